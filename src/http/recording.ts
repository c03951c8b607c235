/** How an answer ended: with its whole body, or with none that can be kept. */
export type Ended =
  | { readonly state: 'complete'; readonly body: Buffer }
  /** It is for its own client alone, as the next one would be. */
  | { readonly state: 'unfit'; readonly why: string }
  | { readonly state: 'broken'; readonly why: string }

/** Another client that is sent the same body, as it grows. */
export interface Follower {
  write(chunk: Buffer): void
  end(): void
  /** There will be no more of it, though it is not whole. */
  cut(): void
}

/** The body of an answer, as it is written. */
export class Recording {
  readonly ended: Promise<Ended>
  readonly #most: number
  readonly #followers = new Set<Follower>()
  #onEnd!: (ended: Ended) => void
  #chunks: Buffer[] = []
  #length = 0
  /** `kept`: all of it so far; `sent`: it is unfit to be kept, and only for those who follow it already. */
  #state: 'kept' | 'sent' | 'over' = 'kept'

  /** @param most bytes that are kept */
  constructor(most: number) {
    this.#most = most
    this.ended = new Promise((resolve) => (this.#onEnd = resolve))
  }

  /** Whether anybody cares for what is written. */
  get isHeard(): boolean {
    return this.#state === 'kept' || (this.#state === 'sent' && this.#followers.size > 0)
  }

  /** Whether others are sent it. */
  get isFollowed(): boolean {
    return this.#followers.size > 0
  }

  /** Whether one who comes now can be sent all of it. */
  get isWhole(): boolean {
    return this.#state === 'kept'
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

  /** Sends no more to those whose answer this turns out not to be. */
  cut(isWrong: (follower: Follower) => boolean): void {
    for (const follower of this.#followers) {
      if (!isWrong(follower)) continue
      this.#followers.delete(follower)
      follower.cut()
    }
  }

  #over(ended: Ended, tell: (follower: Follower) => void): void {
    this.#state = 'over'
    this.#chunks = []
    for (const follower of this.#followers) tell(follower)
    this.#followers.clear()
    this.#onEnd(ended)
  }
}
