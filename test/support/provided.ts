/**
 * Why the tests of something that this machine may lack are skipped, by name; undefined if it is there. On CI it must be.
 * @throws what `provision` rejects with, on CI
 */
export async function missing(provision: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await provision()
    return undefined
  } catch (error) {
    if (process.env['CI']) throw error
    return (error as Error).message
  }
}
