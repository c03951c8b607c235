/** What the source says: it counts how often it is asked, and answers when it is let. */
export async function ask(what: string): Promise<string> {
  return await (await fetch(`${process.env.SOURCE_URL}/${what}`)).text()
}
