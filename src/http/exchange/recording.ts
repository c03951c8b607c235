import { timers } from '../../core/time/clock.ts'
import type { BodyReader } from './body-reader.ts'

/** The end of an answer: complete, unfit to be kept, or broken off. */
export type Ended =
  | { readonly state: 'complete'; readonly body: Buffer }
  /** For its own client alone, as the next answer would be. */
  | { readonly state: 'unfit'; readonly why: string }
  | { readonly state: 'broken'; readonly why: string }

/** The arguments of `Recording`. */
export interface RecordingAbout {
  /** The longest body that is kept, in bytes. */
  readonly most: number
  /** Whether another request of this process waits for the answer. */
  readonly isAwaited: () => boolean
  /** How long a handler without its client may be silent, in milliseconds. */
  readonly patience: number
  /** Called when a reader can take more, and the handler may be waiting for that. */
  readonly onReady: () => void
  /** Called as soon as the body is neither kept nor shared any more. */
  readonly onOver: () => void
}

/**
 * The body of an answer while a handler writes it, and the clients that read it: the handler's own, which reads it to
 * the end whatever becomes of the recording, and others.
 *
 * The handler does not wait for a slow client: a body that is kept needs no backpressure, and a longer one goes at the
 * pace of the fastest reader. It does not learn that its own client has gone away either, as long as another one needs
 * the answer:
 *
 * 1. A leads: the handler writes to A's response. B waits for the same key, or reads the growing answer.
 * 2. A's connection, or its stream of HTTP/2, closes. node:http would destroy A's response and emit `close`; a handler
 *    that sees either stops writing (`pipeline`) or answers something else, and B would be left with half an answer.
 * 3. `Departure` withholds these events. `orphan` finds B, by `isFollowed` or by `isAwaited`: from now on nothing is
 *    sent to A, and every chunk is recorded for B.
 * 4. If the body is too long to be kept, the handler may be waiting for A to drain, which will never happen: `drain` is
 *    emitted, and from now on `write` returns whether B can take more.
 * 5. The handler ends the answer. B has all of it, `onOver` releases the departure, and only then do the listeners of
 *    the connection see `close`.
 *
 * Step 5 has two alternatives. If B, a reader, goes away as well, the recording is broken off, and the handler learns of
 * both departures. If the handler writes nothing for `patience` milliseconds, the recording is broken off, and B is cut
 * off.
 */
export class Recording {
  /** Resolves when it is known whether the body can be kept. */
  readonly ended: Promise<Ended>
  /** Resolves when the body is neither kept nor shared any more. */
  readonly over: Promise<void>
  readonly #about: RecordingAbout
  readonly #readers = new Set<BodyReader>()
  #own: BodyReader | null = null
  #isOrphaned = false
  #abandoned: NodeJS.Timeout | undefined
  #onEnd!: (ended: Ended) => void
  #resolveOver!: () => void
  #chunks: Buffer[] = []
  #length = 0
  /**
   * `kept`: the whole body so far is here. `shared`: it is unfit to be kept and goes to the present readers only.
   * `over`: it is for the handler's own client alone, or for nobody.
   */
  #state: 'kept' | 'shared' | 'over' = 'kept'

  constructor(about: RecordingAbout) {
    this.#about = about
    this.ended = new Promise((resolve) => (this.#onEnd = resolve))
    this.over = new Promise((resolve) => (this.#resolveOver = resolve))
  }

  /** Whether further bytes are kept or sent to readers. */
  get isHeard(): boolean {
    return this.#state !== 'over'
  }

  /** Whether the whole body so far is here: a new reader can be sent it, and no client has to keep pace. */
  get isWhole(): boolean {
    return this.#state === 'kept'
  }

  /** Whether clients other than the handler's own read it. */
  get isFollowed(): boolean {
    return this.#readers.size > (this.#own === null ? 0 : 1)
  }

  /** Whether the handler's own client has gone away, and the handler goes on for others. */
  get isOrphaned(): boolean {
    return this.#isOrphaned
  }

  /** Whether the handler need not wait before it writes more. */
  get isReady(): boolean {
    if (this.isWhole || this.#readers.size === 0) return true
    for (const { isReady } of this.#readers) if (isReady) return true
    return false
  }

  /** Adds the handler's own client, before anything of the body is written. */
  lead(reader: BodyReader): void {
    if (!this.isHeard || this.#isOrphaned) return
    this.#own = reader
    this.#readers.add(reader)
  }

  /** Sends a new reader the body so far, and then its growth. Valid only while `isWhole`. */
  follow(reader: BodyReader): void {
    for (const chunk of this.#chunks) reader.write(chunk.length, [chunk])
    this.#readers.add(reader)
  }

  /** Lets the handler go on, because a reader can take more. */
  goOn(): void {
    if (this.#state === 'shared') this.#about.onReady()
  }

  /** Removes a reader that has gone away. */
  leave(reader: BodyReader): void {
    if (this.#readers.delete(reader)) this.#endUnneeded()
  }

  /** Goes on without the handler's own client, which has gone away, if another one needs the answer. */
  orphan(): void {
    if (!this.isHeard || this.#isOrphaned) return
    if (!this.isFollowed && !this.#about.isAwaited()) return this.break('its client has gone away')
    this.#dismissOwn()
    this.#awaitMore()
    // The handler may be waiting for this client to drain.
    timers.nextTick(() => this.goOn())
  }

  /**
   * @param args those of `write`, as they are passed on to the handler's own client
   */
  write(chunk: Buffer, args: readonly unknown[]): void {
    for (const reader of this.#readers) reader.write(chunk.length, reader === this.#own ? args : [chunk])
    if (this.#isOrphaned) this.#awaitMore()
    this.#keep(chunk)
    if (this.#state === 'shared') this.#cutOffSlow()
  }

  /**
   * Ends the body.
   * @param args those of `end`, as they are passed on to the handler's own client
   * @param declared the value of Content-Length in bytes; `null` if there was none
   */
  end(chunk: Buffer | null, args: readonly unknown[], declared: number | null): void {
    this.#own?.end(args)
    if (chunk !== null) this.#keep(chunk)
    if (!this.isHeard) return
    if (this.isWhole && declared !== null && declared !== this.#length) {
      return this.break(`it has ${this.#length} bytes, and not ${declared} as it says`)
    }
    const body = Buffer.concat(this.#chunks)
    this.#over({ state: 'complete', body }, (reader) => reader.end(chunk === null ? [] : [chunk]))
  }

  /** Marks the body as unfit to be kept; present readers are still sent it. */
  refuse(why: string): void {
    if (this.#state !== 'kept') return
    this.#chunks = []
    this.#state = 'shared'
    this.#onEnd({ state: 'unfit', why })
    this.#endUnneeded()
  }

  /** Ends the recording: others are cut off. */
  break(why: string): void {
    if (this.isHeard) this.#over({ state: 'broken', why }, (reader) => reader.cut())
  }

  /** Cuts all others off: the answer turns out to be for the handler's own client. */
  cutOthers(): void {
    this.#tellOthers((reader) => reader.cut())
    this.#endUnneeded()
  }

  #keep(chunk: Buffer): void {
    if (this.#state !== 'kept') return
    this.#length += chunk.length
    this.#chunks.push(chunk)
    if (this.#length > this.#about.most) this.refuse('it is too large')
  }

  /** Cuts off readers that are far behind the others. */
  #cutOffSlow(): void {
    for (const reader of this.#readers) {
      if (this.#readers.size === 1 || !reader.isTooSlow) continue
      if (reader === this.#own) this.#dismissOwn()
      else this.#readers.delete(reader)
      reader.cut()
    }
  }

  #dismissOwn(): void {
    this.#isOrphaned = true
    if (this.#own !== null) this.#readers.delete(this.#own)
    this.#own = null
  }

  /** Breaks the recording off unless the handler writes again within `patience`. */
  #awaitMore(): void {
    timers.clearTimeout(this.#abandoned)
    this.#abandoned = timers.setTimeout(() => this.break('its handler is silent'), this.#about.patience)
    this.#abandoned.unref()
  }

  /** A body that is not kept, or that the handler's own client has left, is written for others only. */
  #endUnneeded(): void {
    if (this.isFollowed) return
    if (this.#state === 'shared' || (this.#isOrphaned && !this.#about.isAwaited())) this.break('nobody follows it')
  }

  #tellOthers(tell: (reader: BodyReader) => void): void {
    for (const reader of this.#readers) {
      if (reader === this.#own) continue
      this.#readers.delete(reader)
      tell(reader)
    }
  }

  #over(ended: Ended, tell: (reader: BodyReader) => void): void {
    this.#state = 'over'
    this.#chunks = []
    timers.clearTimeout(this.#abandoned)
    this.#tellOthers(tell)
    this.#onEnd(ended)
    this.#about.onOver()
    this.#resolveOver()
  }
}
