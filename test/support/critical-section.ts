/** Work that must not overlap, and the most of it that was under way at a moment. */
export class CriticalSection {
  most = 0
  #inside = 0

  /** Takes a turn of the event loop. */
  readonly work = async (): Promise<void> => {
    this.most = Math.max(this.most, ++this.#inside)
    await new Promise(setImmediate)
    this.#inside--
  }
}
