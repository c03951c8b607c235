/** How an answer ended: with its whole body, or with none that can be kept. */
export type Ended =
  | { readonly state: 'complete'; readonly body: Buffer }
  /** It is for its own client alone, as the next one would be. */
  | { readonly state: 'unfit'; readonly why: string }
  | { readonly state: 'broken'; readonly why: string }

/** Another client that is sent the same body, as it grows. */
export interface Follower {
  /** Whether it can take more at once. */
  readonly isReady: boolean
  write(chunk: Buffer): void
  end(): void
  /** There will be no more of it, though it is not whole. */
  cut(): void
}

/** The body of an answer, as it is written. */
export class Recording {
  /** Resolves when it is known what can be kept. */
  readonly ended: Promise<Ended>
  /** Resolves when nobody cares any more for what is written. */
  readonly over: Promise<void>
  readonly #most: number
  readonly #onOver: () => void
  readonly #followers = new Set<Follower>()
  #onEnd!: (ended: Ended) => void
  #resolveOver!: () => void
  #chunks: Buffer[] = []
  #length = 0
  /** `kept`: all of it so far; `sent`: it is unfit to be kept, and only for those who follow it already. */
  #state: 'kept' | 'sent' | 'over' = 'kept'

  /**
   * @param most bytes that are kept
   * @param onOver called as soon as nobody cares any more for what is written
   */
  constructor(most: number, onOver: () => void) {
    this.#most = most
    this.#onOver = onOver
    this.ended = new Promise((resolve) => (this.#onEnd = resolve))
    this.over = new Promise((resolve) => (this.#resolveOver = resolve))
  }

  /** Whether anybody cares for what is written. */
  get isHeard(): boolean {
    return this.#state !== 'over'
  }

  /** Whether others are sent it. */
  get isFollowed(): boolean {
    return this.#followers.size > 0
  }

  /** Whether all of it is there, so that one who comes now can be sent it, and nobody's pace matters. */
  get isWhole(): boolean {
    return this.#state === 'kept'
  }

  /** Whether one of those who follow it can take more. */
  get isAnyReady(): boolean {
    for (const { isReady } of this.#followers) if (isReady) return true
    return false
  }

  write(chunk: Buffer): void {
    for (const follower of this.#followers) follower.write(chunk)
    if (this.#state !== 'kept') return
    this.#length += chunk.length
    this.#chunks.push(chunk)
    if (this.#length > this.#most) this.refuse('it is too large')
  }

  /** It is not to be kept. */
  refuse(why: string): void {
    if (this.#state !== 'kept') return
    this.#chunks = []
    this.#state = 'sent'
    this.#onEnd({ state: 'unfit', why })
    this.#endUnheard()
  }

  /** @param declared how many bytes it was said to have; `null` if nothing was said */
  end(declared: number | null): void {
    if (this.#state === 'over') return
    if (this.#state === 'kept' && declared !== null && declared !== this.#length) {
      return this.break(`it has ${this.#length} bytes, and not ${declared} as it says`)
    }
    const body = Buffer.concat(this.#chunks)
    this.#over({ state: 'complete', body }, (follower) => follower.end())
  }

  break(why: string): void {
    if (this.#state !== 'over') this.#over({ state: 'broken', why }, (follower) => follower.cut())
  }

  /** Sends all that was written to one more, and what is from now on. Only while it is whole. */
  follow(follower: Follower): void {
    for (const chunk of this.#chunks) follower.write(chunk)
    this.#followers.add(follower)
  }

  /** Sends no more to one that has gone. */
  leave(follower: Follower): void {
    if (this.#followers.delete(follower)) this.#endUnheard()
  }

  /** Sends no more to those whose answer this turns out not to be. */
  cut(isWrong: (follower: Follower) => boolean): void {
    for (const follower of this.#followers) {
      if (!isWrong(follower)) continue
      this.#followers.delete(follower)
      follower.cut()
    }
    this.#endUnheard()
  }

  /** What is not kept is for those who follow it alone. */
  #endUnheard(): void {
    if (this.#state === 'sent' && this.#followers.size === 0) this.break('nobody follows it')
  }

  #over(ended: Ended, tell: (follower: Follower) => void): void {
    this.#state = 'over'
    this.#chunks = []
    for (const follower of this.#followers) tell(follower)
    this.#followers.clear()
    this.#onEnd(ended)
    this.#onOver()
    this.#resolveOver()
  }
}
