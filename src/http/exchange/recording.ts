/** The end of an answer: complete, unfit to be kept, or broken off. */
export type Ended =
  | { readonly state: 'complete'; readonly body: Buffer }
  /** For its own client alone, as the next answer would be. */
  | { readonly state: 'unfit'; readonly why: string }
  | { readonly state: 'broken'; readonly why: string }

/** A further client that is sent the same body while it grows. */
export interface Follower {
  /** Whether it can take more at once. */
  readonly isReady: boolean
  write(chunk: Buffer): void
  end(): void
  /** Ends the answer of this client as incomplete. */
  cut(): void
}

/** The body of an answer while it is written. */
export class Recording {
  /** Resolves when it is known whether the body can be kept. */
  readonly ended: Promise<Ended>
  /** Resolves when the body is neither kept nor followed any more. */
  readonly over: Promise<void>
  readonly #most: number
  readonly #onOver: () => void
  readonly #followers = new Set<Follower>()
  #onEnd!: (ended: Ended) => void
  #resolveOver!: () => void
  #chunks: Buffer[] = []
  #length = 0
  /**
   * `kept`: the whole body so far is here. `sent`: it is unfit to be kept and goes to the present followers only.
   * `over`: further bytes are ignored.
   */
  #state: 'kept' | 'sent' | 'over' = 'kept'

  /**
   * @param most the longest body that is kept, in bytes
   * @param onOver called as soon as the body is neither kept nor followed any more
   */
  constructor(most: number, onOver: () => void) {
    this.#most = most
    this.#onOver = onOver
    this.ended = new Promise((resolve) => (this.#onEnd = resolve))
    this.over = new Promise((resolve) => (this.#resolveOver = resolve))
  }

  /** Whether further bytes are recorded or sent to followers. */
  get isHeard(): boolean {
    return this.#state !== 'over'
  }

  /** Whether there are followers. */
  get isFollowed(): boolean {
    return this.#followers.size > 0
  }

  /** Whether the whole body so far is here: a new follower can be sent it, and no client has to keep pace. */
  get isWhole(): boolean {
    return this.#state === 'kept'
  }

  /** Whether a follower can take more at once. */
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

  /** Marks the body as unfit to be kept; present followers are still sent it. */
  refuse(why: string): void {
    if (this.#state !== 'kept') return
    this.#chunks = []
    this.#state = 'sent'
    this.#onEnd({ state: 'unfit', why })
    this.#endUnheard()
  }

  /**
   * Ends the body.
   * @param declared the value of Content-Length in bytes; `null` if there was none
   */
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

  /** Sends a new follower the body so far, and then its growth. Valid only while `isWhole`. */
  follow(follower: Follower): void {
    for (const chunk of this.#chunks) follower.write(chunk)
    this.#followers.add(follower)
  }

  /** Removes a follower that has gone away. */
  leave(follower: Follower): void {
    if (this.#followers.delete(follower)) this.#endUnheard()
  }

  /** Cuts off the followers for whom the answer turns out to be wrong. */
  cut(isWrong: (follower: Follower) => boolean): void {
    for (const follower of this.#followers) {
      if (!isWrong(follower)) continue
      this.#followers.delete(follower)
      follower.cut()
    }
    this.#endUnheard()
  }

  /** A body that is not kept is written for its followers only: without followers the recording is over. */
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
