import { systemClock } from '../../core/time/clock.ts'
import { ignoreRejection } from '../../core/errors.ts'
import type { Run } from './run.ts'
import type { StoredHead } from '../stored/stored-response.ts'

/** A request that waits for an answer that may grow in this process. */
export interface Joiner {
  /** When it asked, on the clock of `performance`, in milliseconds. */
  readonly askedAt: number
  /** Sends it the answer while it grows. */
  follow(run: Run, head: StoredHead): void
}

/** An answer that is being made. */
interface Stream {
  readonly run: Run
  readonly beganAt: number
  /** Whether its lease is still in the store, which it is not after an invalidation. */
  readonly isCurrent: () => Promise<boolean>
  isBeingAsked: boolean
}

/**
 * The growing answers of this process, and the requests that may follow them. A request that asked before the handler
 * began may follow in any case. A later one may have asked after an invalidation:
 *
 * 1. A asks, wins the lease of the key, and its handler begins. It reads the old row.
 * 2. The row is changed, and `invalidate(key)` removes A's lease from the store.
 * 3. B asks. It must not be answered with the old row, but in this process A's answer is still growing.
 * 4. A's head is decided, and A's answer is offered. B asked after A's handler began, so the store is asked whether A's
 *    lease is still there. It is not: B does not follow, claims the key, and runs the handler anew.
 *
 * The store's reply counts only for the requests that waited when the question was sent (`present`):
 *
 * 1. A's handler is answering. B asks, and the store is asked for B's sake; A's lease is there.
 * 2. `invalidate(key)` removes A's lease, and C asks.
 * 3. The reply "still there" arrives. B asked before the invalidation and follows. C was not present, and the store is
 *    asked again for its sake.
 */
export class Streams {
  readonly #streams = new Map<string, Stream>()
  readonly #joiners = new Map<string, Set<Joiner>>()

  /**
   * Opens an answer to followers.
   * @param key the key that the answer is stored under
   * @returns a function that ends it
   */
  open(key: string, run: Run, isCurrent: () => Promise<boolean>): () => void {
    const stream: Stream = { run, beganAt: systemClock.now(), isCurrent, isBeingAsked: false }
    this.#streams.set(key, stream)
    void run.decided.then(() => this.#offer(key))
    return () => {
      if (this.#streams.get(key) === stream) this.#streams.delete(key)
    }
  }

  /**
   * Adds a request that waits for the key.
   * @returns a function that removes it
   */
  join(key: string, joiner: Joiner): () => void {
    const joiners = this.#joiners.get(key) ?? new Set()
    joiners.add(joiner)
    this.#joiners.set(key, joiners)
    this.#offer(key)
    return () => {
      if (joiners.delete(joiner) && joiners.size === 0 && this.#joiners.get(key) === joiners) this.#joiners.delete(key)
    }
  }

  #offer(key: string): void {
    const stream = this.#streams.get(key)
    const joiners = this.#joiners.get(key)
    if (stream === undefined || joiners === undefined || stream.run.streamed === null) return
    this.#send(joiners, stream, ({ askedAt }) => askedAt < stream.beganAt)
    if (joiners.size === 0 || stream.isBeingAsked) return
    stream.isBeingAsked = true
    const present = new Set(joiners)
    const sent = stream.isCurrent().then((isCurrent) => {
      stream.isBeingAsked = false
      if (!isCurrent) return
      this.#send(joiners, stream, (joiner) => present.has(joiner))
      this.#offer(key)
    })
    ignoreRejection(sent)
  }

  #send(joiners: Set<Joiner>, stream: Stream, isSure: (joiner: Joiner) => boolean): void {
    for (const joiner of joiners) {
      const head = stream.run.streamed
      if (head === null) return
      if (!isSure(joiner)) continue
      joiners.delete(joiner)
      joiner.follow(stream.run, head)
    }
  }
}
