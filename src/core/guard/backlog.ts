import type { Clock, Timer } from '../time/clock.ts'

/** The pause between a failed round and the next, in milliseconds. */
const retryAfter = 250

/** The number of items that are sent at once. */
const batch = 100

/**
 * Commands that a store has yet to receive, oldest first. Each is sent until it succeeds or is useless: four times a
 * second, and at once on `retry`.
 */
export class Backlog<Item> {
  readonly #most: number
  readonly #send: (id: string, item: Item) => Promise<boolean>
  readonly #isUseless: (item: Item) => boolean
  readonly #independent: boolean
  readonly #onSuccess: () => void
  readonly #clock: Clock
  readonly #items = new Map<string, Item>()
  #round: Promise<void> | null = null
  #timer: Timer | null = null
  #stopped = false

  /**
   * @param options.most the most items that are kept
   * @param options.send sends an item to the store; resolves with whether that succeeded, and never rejects
   * @param options.isUseless whether an item need not be sent any more
   * @param options.independent whether the failure of one item says nothing about the others
   * @param options.onSuccess called after a round in which every item succeeded
   */
  constructor(options: {
    most: number
    send: (id: string, item: Item) => Promise<boolean>
    isUseless?: (item: Item) => boolean
    independent?: boolean
    onSuccess?: () => void
    clock: Clock
  }) {
    this.#most = options.most
    this.#send = options.send
    this.#isUseless = options.isUseless ?? (() => false)
    this.#independent = options.independent ?? false
    this.#onSuccess = options.onSuccess ?? (() => undefined)
    this.#clock = options.clock
  }

  get size(): number {
    return this.#items.size
  }

  get(id: string): Item | undefined {
    return this.#items.get(id)
  }

  /** Keeps an item in place of an older one with the same id. `false`: the backlog is full, and nothing is kept. */
  add(id: string, item: Item): boolean {
    if (this.#items.size >= this.#most && !this.#items.has(id)) return false
    this.#items.delete(id)
    this.#items.set(id, item)
    this.#retryLater()
    return true
  }

  /** Drops an item, unless another has taken its place. */
  delete(id: string, item: Item): void {
    if (this.#items.get(id) === item) this.#items.delete(id)
  }

  /** Sends all items, in order, until one fails; resolves when the round is over. Once stopped it sends nothing. */
  retry(): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    return (this.#round ??= this.#sendAll().finally(() => (this.#round = null)))
  }

  /** Stops the rounds, also the present one. The answers to sent items still count. */
  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  async #sendAll(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = null
    const tried = new Map<string, Item>()
    let failed = false
    for (;;) {
      const some = this.#next(tried)
      if (some.length === 0) break
      const done = await Promise.all(some.map(([id, item]) => this.#try(id, item)))
      failed ||= done.includes(false)
      if (this.#stopped || (failed && !this.#independent)) break
    }
    if (this.#items.size > 0) this.#retryLater()
    if (!failed) this.#onSuccess()
  }

  /** The oldest items that this round has not tried yet. */
  #next(tried: Map<string, Item>): [string, Item][] {
    const some: [string, Item][] = []
    for (const [id, item] of this.#items) {
      if (this.#isUseless(item)) this.#items.delete(id)
      else if (tried.get(id) !== item) some.push([id, item])
      if (some.length === batch) break
    }
    for (const [id, item] of some) tried.set(id, item)
    return some
  }

  async #try(id: string, item: Item): Promise<boolean> {
    const done = await this.#send(id, item)
    if (done) this.delete(id, item)
    return done
  }

  #retryLater(): void {
    if (this.#stopped || this.#timer !== null) return
    const retry = (): void => {
      this.#timer = null
      void this.retry()
    }
    this.#timer = this.#clock.after(retryAfter, retry, 'background')
  }
}
