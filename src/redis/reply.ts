/** A client may give the integers of a reply as strings. */
export function isYes(reply: unknown): boolean {
  return Number(reply) === 1
}
