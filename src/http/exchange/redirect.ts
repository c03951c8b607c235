import { timers } from '../../core/time/clock.ts'
import type { ServerResponse } from 'node:http'
import type { WatchedRequest } from '../inputs/watched-request.ts'
import { Departure } from '../message/departure.ts'
import { cutOff, streamOf } from '../message/http2.ts'
import { sendHead, type MoreLines } from '../message/late-head.ts'
import { Overrides } from '../message/overrides.ts'
import { argumentsOf, applyHead, isChunk, linesOf } from '../message/response-arguments.ts'
import type { FieldLine } from '../policy/fields.ts'
import { BodyReader } from './body-reader.ts'
import type { Cut } from './part.ts'
import { Recording, type RecordingAbout } from './recording.ts'

/** The head of an answer. */
export interface Head {
  readonly status: number
  readonly message: string | undefined
  readonly lines: readonly FieldLine[]
}

/** How the handler's own client is sent the answer: with additional lines, and perhaps a part of the body. */
export interface Course extends MoreLines {
  readonly cut?: Cut
}

/** The arguments of `Redirect`. */
export interface RedirectAbout extends Omit<RecordingAbout, 'onReady' | 'onOver'> {
  /** Called once, when the head is complete; `null` if the client is sent another answer. */
  readonly decide: (head: Head) => Course | null
  /** The recorded reads of the handler, which are suspended while code of others runs. */
  readonly watched: Pick<WatchedRequest, 'unwatched' | 'endReads'>
  /**
   * The real connection of the client, not a replacement, or its stream of HTTP/2; `null` for an answer without a
   * client.
   */
  readonly carrier: unknown
}

type Arguments = readonly unknown[]
type Original = (args: Arguments) => unknown

/**
 * Replaces the methods by which a handler can answer: what it writes goes into a recording, and from there, in the same
 * call, to its client and to all others that read it. When the recording is over, the original methods answer the
 * client alone.
 *
 * Middleware before the cache (compression, a session) sees the bytes as always, because the client is sent them by the
 * original methods; the output of middleware behind the cache is recorded as it leaves.
 */
export class Redirect {
  /** Resolves when the course of the answer is decided, or if the answer ends without a head. */
  readonly decided: Promise<void>
  /** Resolves when the handler has ended the answer, or it was cut off. */
  readonly written: Promise<void>
  readonly recording: Recording
  readonly #response: ServerResponse
  readonly #about: RedirectAbout
  readonly #overrides: Overrides
  readonly #departure: Departure | null
  #client!: BodyReader
  #onDecided!: () => void
  #onWritten!: () => void
  /** The course of the answer; `undefined` before its head. */
  #course: Course | null | undefined
  /** The value of `Content-Length`; `null` if it is absent. */
  #declared: number | null = null
  /** The part of the body that is being sent and was recorded already. */
  #sending: 'a part' | 'the end' | null = null
  #end!: Original
  /** Whether the client has its part of the body, and the response was ended before the handler ended it. */
  #hasPart = false

  constructor(response: ServerResponse, about: RedirectAbout) {
    this.#response = response
    this.#about = about
    this.#overrides = new Overrides(response)
    this.decided = new Promise((resolve) => (this.#onDecided = resolve))
    this.written = new Promise((resolve) => (this.#onWritten = resolve))
    this.recording = new Recording({
      ...about,
      onReady: () => void response.emit('drain'),
      onOver: () => this.#over(),
    })
    this.#overrides.allOrNone(() => this.#replaceMethods())
    this.#departure = about.carrier === null ? null : new Departure(about.carrier, () => this.recording.orphan())
    response.once('close', this.#onClose)
  }

  /** Restores the response. Later parts of the answer are not recorded. */
  release(): void {
    this.#response.off('close', this.#onClose)
    this.#overrides.undo()
  }

  readonly #onClose = (): void => {
    // An injected response may emit `close` before the end of the body is recorded.
    if (this.#sending !== 'the end') this.recording.break('it was cut off')
    this.#onWritten()
  }

  #over(): void {
    this.#about.watched.endReads()
    this.#departure?.release()
    this.#onDecided()
  }

  /** Every method that an answer can be made with. */
  #replaceMethods(): void {
    // `BodyReader` looks whether `write` is that of earlier middleware.
    const response = this.#response
    this.#client = new BodyReader(response, {
      write: (args) => this.#pass(args, write),
      end: (args) => this.#sent('the end', () => end(args)),
      cut: () => (streamOf(response) === null ? this.#departure?.cutOff() : cutOff(response)),
    })
    const writeHead = this.#replace('writeHead', (...args) => this.#writeHead(args, writeHead))
    const flushHeaders = this.#replace('flushHeaders', () => {
      this.#sayHead()
      if (!this.#isUnsent) flushHeaders([])
    })
    const write = this.#replace('write', (...args) => this.#write(args, write))
    const end = this.#replace('end', (...args) => this.#endBy(args, end))
    this.#end = end
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
   * Replaces a method.
   * @returns a function that calls the original; its reads do not count as reads of the handler
   */
  #replace(name: string, method: (...args: never[]) => unknown): Original {
    const before = this.#overrides.method(name, method)
    return (args) => this.#about.watched.unwatched(() => before(args))
  }

  #writeHead(args: Arguments, writeHead: Original): unknown {
    if (this.#course !== undefined) return this.#isUnsent ? this.#response : writeHead(args)
    applyHead(this.#response, args)
    const course = this.#decide()
    if (course !== null) this.#lead(course, writeHead)
    // A stream of HTTP/2 whose client has gone away takes no head.
    if (this.#isUnsent) this.#overrides.value('headersSent', true)
    this.#onDecided()
    return this.#response
  }

  #write(args: Arguments, write: Original): unknown {
    if (this.#sending !== null || !isChunk(args[0])) return write(args)
    this.#sayHead()
    const { recording } = this
    // Copied before the chunk is passed on, because its owner may change the bytes afterwards.
    const { chunk, done } = argumentsOf(args, recording.isHeard)
    if (chunk === null) return this.#writeAlone(args, write)
    // Without the callback: a handler that awaits it would wait for this client.
    recording.write(
      chunk,
      args.filter((each) => typeof each !== 'function'),
    )
    if (done !== null) timers.nextTick(done)
    return recording.isReady
  }

  /** Writes to the handler's own client alone. */
  #writeAlone(args: Arguments, write: Original): unknown {
    const part = this.#partOf(args)
    const more = part === null || this.#sent('a part', () => write(part))
    if (part === null) this.#tell(args)
    // The handler may read the rest for minutes, of a file or of another server.
    if (!this.#hasPart && this.#course?.cut?.isOver === true) {
      this.#hasPart = true
      this.#sent('the end', () => this.#end([]))
    }
    return more
  }

  /** Calls the callback of a write or an end that sends nothing. */
  #tell(args: Arguments): void {
    const { done } = argumentsOf(args, false)
    if (done !== null) timers.nextTick(done)
  }

  #endBy(args: Arguments, end: Original): unknown {
    const [first] = args
    const isEnding = !first || typeof first === 'function' || isChunk(first)
    if (this.#sending !== null || !isEnding) return end(args)
    const { recording } = this
    const { chunk, done } = argumentsOf(args, recording.isHeard)
    if (this.#course === undefined) {
      // Node.js sets Content-Length itself if no head is requested before the body. Here the head is requested first.
      if (recording.isHeard && !isFramed(this.#response)) this.#response.setHeader('Content-Length', chunk?.length ?? 0)
      this.#sayHead()
    }
    const { isHeard } = recording
    if (isHeard) recording.end(chunk, args, isBodiless(this.#response) ? null : this.#declared)
    if (this.#isUnsent) this.#pretendEnded(done)
    else if (this.#hasPart) this.#tell(args)
    else if (!isHeard) this.#sent('the end', () => end(this.#partOf(args) ?? [done]))
    this.#about.watched.endReads()
    this.#onWritten()
    return this.#response
  }

  /** Passes a chunk on to the client. */
  #pass(args: Arguments, write: Original): unknown {
    const more = this.#sent('a part', () => write(args))
    if (more === false) this.#replaceNeedDrain()
    return more
  }

  /**
   * Makes `writableNeedDrain` agree with the replaced `write`. Not earlier than needed: an accessor of its own makes a
   * response slow.
   */
  #replaceNeedDrain(): void {
    const kind = Object.getPrototypeOf(this.#response) as object
    const needsDrain = (): boolean => Reflect.get(kind, 'writableNeedDrain', this.#response) === true
    this.#overrides.set('writableNeedDrain', {
      get: () => needsDrain() && !(this.recording.isHeard && this.recording.isReady),
    })
  }

  /** The arguments for the part of a chunk that is sent; `null` for nothing. */
  #partOf(args: Arguments): Arguments | null {
    if (this.#isUnsent || this.#hasPart) return null
    const cut = this.#course?.cut
    if (cut === undefined) return args
    const { chunk, done } = argumentsOf(args, true)
    const sent = chunk === null ? null : cut.of(chunk)
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

  /** Sends the head to the handler's own client. If that throws, the course is undecided again. */
  #lead(course: Course, writeHead: Original): void {
    try {
      const send = (): unknown => writeHead([this.#response.statusCode])
      // A cache before this one has set `Cache-Status`, to which a line is added here.
      this.#about.watched.unwatched(() => sendHead(this.#response, course, send))
    } catch (error) {
      this.#course = undefined
      throw error
    }
    this.recording.lead(this.#client)
  }

  /** Makes a response that was not sent look ended to the handler. */
  #pretendEnded(done: (() => void) | null): void {
    this.#overrides.value('writableEnded', true)
    this.#overrides.value('finished', true)
    if (done !== null) timers.nextTick(done)
  }

  /** Whether nothing is sent to the client. */
  get #isUnsent(): boolean {
    return this.#course === null || this.recording.isOrphaned
  }

  /**
   * Sends the head through `writeHead` of the response, so that middleware behind the cache can change the head at this
   * moment, as `on-headers` does.
   */
  #sayHead(): void {
    if (this.#course === undefined) this.#response.writeHead(this.#response.statusCode)
  }

  #decide(): Course | null {
    const { statusCode: status } = this.#response
    // HTTP/2 has no reason phrase (RFC 9113 section 8.3.2), and warns if it is read.
    const message = streamOf(this.#response) === null ? this.#response.statusMessage : undefined
    const lines = this.#about.watched.unwatched(() => linesOf(this.#response))
    const declared = this.#response.getHeader('content-length')
    this.#declared = declared === undefined ? null : Number(declared)
    return (this.#course = this.#about.decide({ status, message, lines }))
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
