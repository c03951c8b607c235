/** The answers of several callers, in their order, each as soon as it is there. */
export class Answers {
  readonly #settled: PromiseSettledResult<unknown>[] = []
  readonly #pending: Promise<void>[] = []

  /** Resolves with the answers of several callers that ask at once. */
  static async of<T>(all: readonly T[], ask: (one: T) => unknown): Promise<PromiseSettledResult<unknown>[]> {
    const answers = new Answers()
    for (const [at, one] of all.entries()) answers.take(at, () => ask(one))
    return await answers.all()
  }

  /** Takes the answer of a caller: a value, a promise, or what is thrown. */
  take(at: number, answer: () => unknown): void {
    const fulfil = (value: unknown): void => void (this.#settled[at] = { status: 'fulfilled', value })
    const reject = (reason: unknown): void => void (this.#settled[at] = { status: 'rejected', reason })
    try {
      const answered = answer()
      // A hit needs no promise. A rejection may come before all are awaited: it is handled at once.
      if (answered instanceof Promise) this.#pending.push(answered.then(fulfil, reject))
      else fulfil(answered)
    } catch (reason) {
      reject(reason)
    }
  }

  /** Resolves with all answers that were taken. */
  async all(): Promise<PromiseSettledResult<unknown>[]> {
    await Promise.all(this.#pending)
    return this.#settled
  }
}
