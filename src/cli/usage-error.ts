/** A command line that cannot be understood, or that cannot be carried out as things are here; the message says why. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
