import { ignoreRejection } from '../../core/errors.ts'
import type { HandlerRun } from './handler-run.ts'
import type { StoredHead } from '../stored/stored-response.ts'

/** A request that waits for an answer that may be made in this process. */
export interface Joiner {
  /** When it asked, on the clock of `performance`. */
  readonly askedAt: number
  /** Sends it the answer as it grows. */
  follow(fill: HandlerRun, head: StoredHead): void
}

/** An answer that is being made. */
interface Stream {
  readonly fill: HandlerRun
  readonly beganAt: number
  /** Whether it has been invalidated by nobody so far, as the store knows. */
  readonly isCurrent: () => Promise<boolean>
  isBeingAsked: boolean
}

/**
 * The answers that are made in this process: who waits for one here is sent it as it grows.
 *
 * Whoever asked before the handler began may have it in any case. For those who came later something may have been
 * invalidated before they asked: the store is asked whether the lease is still there, once for all who are there by then.
 */
export class Streams {
  readonly #streams = new Map<string, Stream>()
  readonly #joiners = new Map<string, Set<Joiner>>()

  /** @returns what ends it */
  open(key: string, fill: HandlerRun, isCurrent: () => Promise<boolean>): () => void {
    const stream: Stream = { fill, beganAt: performance.now(), isCurrent, isBeingAsked: false }
    this.#streams.set(key, stream)
    void fill.decided.then(() => this.#offer(key))
    return () => {
      if (this.#streams.get(key) === stream) this.#streams.delete(key)
    }
  }

  /** @returns what ends its wait */
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
    if (stream === undefined || joiners === undefined || stream.fill.streamed === null) return
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
      const head = stream.fill.streamed
      if (head === null) return
      if (!isSure(joiner)) continue
      joiners.delete(joiner)
      joiner.follow(stream.fill, head)
    }
  }
}
