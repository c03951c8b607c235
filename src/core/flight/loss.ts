import type { CacheError } from '../errors.ts'

/** The moment, if it comes, from which the result of a load, or of the wait for one, is of no use any more. */
export class Loss {
  #reason: CacheError | null = null
  #tell: ((reason: CacheError) => void) | null = null

  /** Why the result is lost; `null` if it is not. */
  get reason(): CacheError | null {
    return this.#reason
  }

  /** Only the first call counts. */
  lose(reason: CacheError): void {
    if (this.#reason !== null) return
    this.#reason = reason
    this.#tell?.(reason)
  }

  /** Calls `tell` when the result is lost, in place of the function that was given before. */
  tell(tell: (reason: CacheError) => void): void {
    if (this.#reason === null) this.#tell = tell
    else tell(this.#reason)
  }

  /** As `tell`, as a promise. */
  promise(): Promise<CacheError> {
    return new Promise((resolve) => this.tell(resolve))
  }
}
