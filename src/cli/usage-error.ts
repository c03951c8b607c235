/** A command line that is malformed, or impossible in this environment; the message says why. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
