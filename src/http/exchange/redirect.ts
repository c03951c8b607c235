import { timers } from '../../core/time/clock.ts'
import type { ServerResponse } from 'node:http'
import type { WatchedRequest } from '../watch/watched-request.ts'
import { ClientBacklog } from './backlog.ts'
import { Departure } from '../message/departure.ts'
import { cutOff, streamOf } from '../message/http2.ts'
import { sendHead, type MoreLines } from '../message/late-head.ts'
import { Overrides } from '../message/overrides.ts'
import { argumentsOf, applyHead, isChunk, linesOf } from '../message/response-arguments.ts'
import type { FieldLine } from '../policy/fields.ts'
import { Recording, type Follower } from './recording.ts'

/** The head of an answer. */
export interface Head {
  readonly status: number
  readonly message: string | undefined
  readonly lines: readonly FieldLine[]
}

/**
 * The course of an answer: to the client, with additional lines and with each chunk reduced by `cut`; or to no client,
 * because another answer is sent.
 */
export type Course =
  | ({ readonly to: 'client'; readonly cut?: (chunk: Buffer) => Buffer } & MoreLines)
  | { readonly to: 'nobody' }

/** The clients of an answer: its own client, and others that remain if that one goes away. */
export interface Audience {
  /** The real connection of its client, not a replacement; with HTTP/2 the stream. */
  readonly carrier: unknown
  /** Whether another request of this process waits for the answer. */
  readonly isAwaited: () => boolean
  /** How long a handler without its client may be silent, in milliseconds. */
  readonly patience: number
}

/** The recorded reads of a handler, which are suspended while code of others runs. */
type Reader = Pick<WatchedRequest, 'unwatched' | 'endReads'>

const nobody: Reader = { unwatched: (work) => work(), endReads: () => undefined }

/**
 * Captures an answer on its way to the client, by whichever methods the handler sends it.
 *
 * Every method that sends anything is replaced by one that calls the original. Middleware before the cache
 * (compression, a session) sees the bytes as always; the output of middleware behind the cache is captured as it
 * leaves.
 *
 * While other clients share the answer, the leading client is one of several. The handler does not wait for a slow
 * leader: a body that is kept needs no backpressure, and a longer one goes at the pace of the fastest client. The
 * handler does not learn that the leader has gone away either:
 *
 * 1. A leads: the handler writes to A's response. B waits for the same key, or follows the growing answer.
 * 2. A's connection, or its stream of HTTP/2, closes. node:http would destroy A's response and emit `close`; a handler that sees either stops
 *    writing (`pipeline`) or answers something else, and B would be left with half an answer.
 * 3. `Departure` withholds these events. `#goOnWithout` finds B, by `isFollowed` or by `isAwaited`, and sets `#isGone`:
 *    from now on nothing is sent to A, and every chunk is recorded for B.
 * 4. If the body is too long to be kept, the handler may be waiting for A to drain, which will never happen: `drain` is
 *    emitted, and from now on `write` returns whether B can take more.
 * 5. The handler ends the answer. B has all of it, `#over` releases the departure, and only then do the listeners of
 *    the connection see `close`.
 *
 * Step 5 has two alternatives. If B, a follower, goes away as well, `leave` breaks the recording off, and the handler
 * learns of both departures. If the handler writes nothing for `patience` milliseconds, the recording is broken off,
 * and B is cut off.
 */
export class Redirect {
  /** Resolves with the head when the course of the answer is decided; with `null` if the answer ends without one. */
  readonly head: Promise<Head | null>
  readonly recording: Recording
  readonly #response: ServerResponse
  readonly #decide: (head: Head) => Course
  readonly #reader: Reader
  readonly #overrides: Overrides
  readonly #departure: Departure | null
  readonly #backlog: ClientBacklog
  readonly #audience: Audience | null
  #onHead!: (head: Head | null) => void
  #course: Course | null = null
  /** The value of `Content-Length`; `null` if it is absent. */
  #declared: number | null = null
  /** Whether the client has gone away and its departure is withheld. */
  #isGone = false
  #abandoned: NodeJS.Timeout | undefined
  /** The part of the body that is being sent and was recorded already. */
  #sending: 'a part' | 'the end' | null = null

  /**
   * Replaces the methods of a response.
   * @param decide called once, when the head is complete
   * @param about.most the longest body that is kept, in bytes
   * @param about.audience `null` for an answer without a client
   */
  constructor(
    response: ServerResponse,
    decide: (head: Head) => Course,
    {
      most,
      reader = nobody,
      audience = null,
    }: { readonly most: number; readonly reader?: Reader; readonly audience?: Audience | null },
  ) {
    this.#response = response
    this.#decide = decide
    this.#audience = audience
    this.#backlog = new ClientBacklog(response)
    this.recording = new Recording(most, () => this.#over())
    this.#reader = reader
    this.#overrides = new Overrides(response)
    this.head = new Promise((resolve) => (this.#onHead = resolve))
    this.#overrides.allOrNone(() => this.#replaceMethods())
    this.#departure = audience === null ? null : new Departure(audience.carrier, () => this.#goOnWithout(audience))
    response.once('close', this.#onClose)
  }

  /** The course of the answer; `null` before its head. */
  get course(): Course | null {
    return this.#course
  }

  /** Restores the response. Later parts of the answer are not captured. */
  release(): void {
    this.#response.off('close', this.#onClose)
    this.#overrides.undo()
  }

  /** Ends the recording: the answer is for its own client alone. */
  pass(): void {
    this.recording.break('it is for its own client alone')
  }

  /** Breaks the recording off, because the connection ends. */
  breakOff(): void {
    this.recording.break('it was cut off')
  }

  /** Emits `drain`, because a follower can take more and the handler may be waiting. */
  goOn(): void {
    if (this.recording.isHeard && !this.recording.isWhole) this.#response.emit('drain')
  }

  /** Removes a follower. If the leading client has gone and no other client remains, the recording is broken off. */
  leave(follower: Follower): void {
    this.recording.leave(follower)
    if (this.#isGone && !this.recording.isFollowed && this.#audience?.isAwaited() !== true) this.breakOff()
  }

  readonly #onClose = (): void => {
    // An injected response may emit `close` before the end of the body is recorded.
    if (this.#sending !== 'the end') this.breakOff()
  }

  /** Goes on without the leading client if another client needs the answer; otherwise breaks the recording off. */
  #goOnWithout({ isAwaited }: Audience): void {
    if (this.#isGone) return
    if (!this.recording.isFollowed && !isAwaited()) return this.breakOff()
    this.#isGone = true
    this.#waitOn()
    // The handler may be waiting for this client to drain.
    timers.nextTick(() => this.goOn())
  }

  /** Breaks the recording off unless the handler writes again within `patience`. */
  #waitOn(): void {
    timers.clearTimeout(this.#abandoned)
    this.#abandoned = timers.setTimeout(() => this.breakOff(), this.#audience?.patience)
    this.#abandoned.unref()
  }

  #over(): void {
    this.#reader.endReads()
    timers.clearTimeout(this.#abandoned)
    this.#departure?.release()
    this.#onHead(null)
  }

  #replaceMethods(): void {
    this.#hearHead()
    this.#hearBody()
    this.#hearRest()
  }

  #hearHead(): void {
    const response = this.#response
    const writeHead = this.#replace('writeHead', (...args) => {
      if (this.#course !== null) return this.#isUnsent ? response : writeHead(args)
      applyHead(response, args)
      const head = this.#decideNow()
      const { course } = this
      if (course?.to === 'client') this.#send(course, writeHead)
      // A stream of HTTP/2 whose client has gone away takes no head.
      if (this.#isGone) this.#overrides.value('headersSent', true)
      this.#onHead(head)
      return response
    })
    const flushHeaders = this.#replace('flushHeaders', () => {
      this.#sayHead()
      if (!this.#isUnsent) flushHeaders([])
    })
  }

  #hearBody(): void {
    const response = this.#response
    const write = this.#replace('write', (...args) => {
      if (this.#sending !== null || !isChunk(args[0])) return write(args)
      this.#sayHead()
      const { isHeard } = this.recording
      // Copied before the chunk is passed on, because its owner may change the bytes afterwards.
      const { chunk, done } = argumentsOf(args, isHeard)
      const part = this.#partOf(args)
      if (!isHeard && part !== null) return this.#sent('a part', () => write(part))
      const isReady = part !== null && this.#writeOn(part, chunk, write)
      if (chunk !== null) this.recording.write(chunk)
      if (this.#isGone) this.#waitOn()
      if (done !== null) timers.nextTick(done)
      this.#cutOffSlow()
      return part === null && !this.recording.isHeard ? true : isReady || this.#isAnyReady
    })
    const end = this.#replace('end', (...args) => {
      const [first] = args as unknown[]
      if (this.#sending !== null) return end(args)
      if (Boolean(first) && typeof first !== 'function' && !isChunk(first)) return end(args)
      const { chunk, done } = argumentsOf(args, this.recording.isHeard)
      if (this.#course === null) {
        // Node.js sets Content-Length itself if no head is requested before the body. Here the head is requested first.
        if (this.recording.isHeard && !isFramed(response)) response.setHeader('Content-Length', chunk?.length ?? 0)
        this.#sayHead()
      }
      if (chunk !== null) this.recording.write(chunk)
      if (this.#isUnsent) this.#pretendEnded()
      else this.#sent('the end', () => end(this.#partOf(args) ?? [done]))
      this.recording.end(isBodiless(response) ? null : this.#declared)
      this.#reader.endReads()
      if (this.#isUnsent && done !== null) timers.nextTick(done)
      return response
    })
  }

  /** Captures all other ways to end or to query a response. */
  #hearRest(): void {
    const response = this.#response
    const destroy = this.#replace('destroy', (...args) => {
      this.#onClose()
      return destroy(args)
    })
    // HTTP/1 has `addTrailers`; HTTP/2 has `setTrailer` as well.
    for (const name of ['addTrailers', 'setTrailer']) {
      if (!(name in response)) continue
      const add = this.#replace(name, (...trailers) => {
        if (!this.#isUnsent) add(trailers)
        this.recording.refuse('it has trailers')
      })
    }
  }

  /**
   * Passes a chunk on to the client.
   * @returns whether the client can take more at once
   */
  #writeOn(args: readonly unknown[], chunk: Buffer | null, write: (args: readonly unknown[]) => unknown): boolean {
    // Without the callback: a handler that awaits it would wait for this client.
    const more = this.#sent('a part', () => write(args.filter((each) => typeof each !== 'function')))
    if (more === false) this.#replaceNeedDrain()
    return this.#backlog.write(chunk?.length ?? 0, more)
  }

  /**
   * Makes `writableNeedDrain` agree with the replaced `write`. Not earlier than needed: an accessor of its own makes a
   * response slow.
   */
  #replaceNeedDrain(): void {
    const kind = Object.getPrototypeOf(this.#response) as object
    const needsDrain = (): boolean => Reflect.get(kind, 'writableNeedDrain', this.#response) === true
    this.#overrides.set('writableNeedDrain', {
      get: () => needsDrain() && !(this.recording.isHeard && this.#isAnyReady),
    })
  }

  /**
   * Replaces a method.
   * @returns a function that calls the original; its reads do not count as reads of the handler
   */
  #replace(name: string, method: (...args: never[]) => unknown): (args: readonly unknown[]) => unknown {
    const before = this.#overrides.method(name, method)
    return (args) => this.#reader.unwatched(() => before(args))
  }

  /** The arguments for the part of a chunk that is sent; `null` for nothing. */
  #partOf(args: readonly unknown[]): readonly unknown[] | null {
    if (this.#isUnsent || this.#course?.to !== 'client') return null
    const { cut } = this.#course
    if (cut === undefined) return args
    const { chunk, done } = argumentsOf(args, true)
    const sent = chunk === null ? null : cut(chunk)
    return sent === null || sent.length === 0 ? null : [sent, done]
  }

  /**
   * Sends a part of the body. The original method may call another of the replaced methods with the same bytes, which
   * must not be recorded twice.
   */
  #sent<T>(what: 'a part' | 'the end', send: () => T): T {
    this.#sending = what
    try {
      return send()
    } finally {
      this.#sending = null
    }
  }

  /** Sends the head with additional lines. If that throws, the course is undecided again. */
  #send(lines: MoreLines, writeHead: (args: readonly unknown[]) => unknown): void {
    try {
      sendHead(this.#response, lines, () => writeHead([this.#response.statusCode]))
    } catch (error) {
      this.#course = null
      throw error
    }
  }

  /** Makes a response that was not sent look ended to the handler. */
  #pretendEnded(): void {
    this.#overrides.value('writableEnded', true)
    this.#overrides.value('finished', true)
  }

  /** Whether nothing is sent to the client. */
  get #isUnsent(): boolean {
    return this.#isGone || this.#course?.to === 'nobody'
  }

  /** Whether a client other than the leading one can take more at once. A body that is kept needs no backpressure. */
  get #isAnyReady(): boolean {
    return this.recording.isWhole || this.recording.isAnyReady
  }

  /** Cuts the leading client off if it is too far behind, as followers are. */
  #cutOffSlow(): void {
    const { isFollowed, isWhole } = this.recording
    if (!isFollowed || isWhole || this.#isUnsent || !this.#backlog.isTooLong) return
    if (streamOf(this.#response) === null) this.#departure?.cutOff()
    else cutOff(this.#response)
  }

  /**
   * Sends the head through `writeHead` of the response, so that middleware behind the cache can change the head at this
   * moment, as `on-headers` does.
   */
  #sayHead(): void {
    if (this.#course === null) this.#response.writeHead(this.#response.statusCode)
  }

  #decideNow(): Head {
    const { statusCode: status } = this.#response
    // HTTP/2 has no reason phrase (RFC 9113 section 8.3.2), and warns if it is read.
    const message = streamOf(this.#response) === null ? this.#response.statusMessage : undefined
    const lines = this.#reader.unwatched(() => linesOf(this.#response))
    const head = { status, message, lines }
    const declared = this.#response.getHeader('content-length')
    this.#declared = declared === undefined ? null : Number(declared)
    this.#course = this.#decide(head)
    if (this.#course.to === 'nobody') this.#overrides.value('headersSent', true)
    return head
  }
}

/** Whether the length of the body is determined: by a field, or because there is no body. */
function isFramed(response: ServerResponse): boolean {
  return (
    isBodiless(response) || ['content-length', 'transfer-encoding', 'trailer'].some((name) => response.hasHeader(name))
  )
}

function isBodiless({ statusCode, req }: ServerResponse): boolean {
  return statusCode === 204 || statusCode === 304 || req.method === 'HEAD'
}
