import type { ServerResponse } from 'node:http'
import type { WatchedFields } from '../watch/watched-fields.ts'
import { Backlog } from './backlog.ts'
import { Departure } from '../message/departure.ts'
import { cutOff, hasClientLeft, streamOf } from '../message/http2.ts'
import { sendHead, type MoreLines } from '../message/late-head.ts'
import { Overrides } from '../message/overrides.ts'
import { argumentsOf, applyHead, isChunk, linesOf } from '../message/response-arguments.ts'
import type { FieldLine } from '../policy/fields.ts'
import { Recording, type Follower } from './recording.ts'

/** What a handler says before its body. */
export interface Head {
  readonly status: number
  readonly message: string | undefined
  readonly lines: readonly FieldLine[]
}

/**
 * What becomes of an answer: it goes on to the client, with some more lines, and of each chunk what `cut` leaves; or to nobody,
 * for something else is sent.
 */
export type Course =
  | ({ readonly to: 'client'; readonly cut?: (chunk: Buffer) => Buffer } & MoreLines)
  | { readonly to: 'nobody' }

/** Whom there is an answer for: its client, and others should that go away. */
export interface Audience {
  /** The connection of its client, and nothing that stands for it. */
  readonly socket: unknown
  /** Whether anybody else of this process waits for it. */
  readonly isAwaited: () => boolean
  /** How long a handler without a client may stand still, in milliseconds. */
  readonly patience: number
}

/** Who is watched for what it reads of a request, and is told when what happens is not the handler's. */
type Reader = Pick<WatchedFields, 'isWatched' | 'unwatched'>

const nobody: Reader = { isWatched: false, unwatched: (work) => work() }

/**
 * What a handler answers, heard on its way to the client, however it is said.
 *
 * The methods by which a response sends anything are replaced by ones that call those that were there. So whatever stands
 * before (compression, a session) sees what goes to the client as ever, and what stands behind is heard as it leaves there.
 *
 * While others are to have the answer, its client is one among them: the handler does not wait for a client that reads slowly,
 * for what is kept is kept anyway, and beyond that goes at the pace of the fastest; and it does not hear that its client has
 * gone, for it would stop, or answer something else.
 */
export class Capture {
  /** Resolves with what is said before the body, when it is decided what becomes of it; with `null` if nothing ever is. */
  readonly head: Promise<Head | null>
  readonly recording: Recording
  readonly #response: ServerResponse
  readonly #decide: (head: Head) => Course
  readonly #reader: Reader
  readonly #overrides: Overrides
  readonly #departure: Departure | null
  readonly #backlog: Backlog
  readonly #audience: Audience | null
  #onHead!: (head: Head | null) => void
  #course: Course | null = null
  /** What `Content-Length` says. */
  #declared: number | null = null
  /** Whether the client has gone, and nobody hears of that. */
  #isGone = false
  #abandoned: NodeJS.Timeout | undefined
  /** What is being sent of the body, which was heard already. */
  #sending: 'a part' | 'the end' | null = null

  /**
   * @param decide called once, when all has been said that comes before the body
   * @param about.most bytes of a body that is kept
   * @param about.audience `null` where the answer has no client
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
    this.#backlog = new Backlog(response)
    this.recording = new Recording(most, () => this.#over())
    this.#reader = reader
    this.#overrides = new Overrides(response)
    this.head = new Promise((resolve) => (this.#onHead = resolve))
    this.#overrides.allOrNone(() => this.#replaceMethods())
    this.#departure = audience === null ? null : new Departure(audience.socket, () => this.#goOnWithout(audience))
    response.once('close', this.#onClose)
  }

  /** What became of the answer; `null` before anything was said. */
  get course(): Course | null {
    return this.#course
  }

  /** The response is as it was: what is sent from now on is not heard. */
  release(): void {
    this.#response.off('close', this.#onClose)
    this.#overrides.undo()
  }

  /** It is for its own client alone: nobody else will hear of it. */
  pass(): void {
    this.recording.break('it is for its own client alone')
  }

  /** The handler ends the connection. */
  breakOff(): void {
    this.recording.break('it was cut off')
  }

  /** Somebody who follows can take more: whoever waits for that goes on. */
  goOn(): void {
    if (this.recording.isHeard && !this.recording.isWhole) this.#response.emit('drain')
  }

  /** One of those who follow has gone; where nobody is left, the handler hears of that. */
  leave(follower: Follower): void {
    this.recording.leave(follower)
    if (this.#isGone && !this.recording.isFollowed && this.#audience?.isAwaited() !== true) this.breakOff()
  }

  readonly #onClose = (): void => {
    // A response that is made up may close before its end is heard.
    if (this.#sending !== 'the end') this.breakOff()
  }

  /** The client has gone: nobody hears of it before the answer has ended, if others are to have that. */
  #goOnWithout({ isAwaited }: Audience): void {
    if (this.#isGone) return
    if (!this.recording.isFollowed && !isAwaited()) return this.breakOff()
    this.#isGone = true
    this.#waitOn()
    // It may have waited for its client to be ready for more.
    process.nextTick(() => this.goOn())
  }

  /** Gives the handler up, unless it says something in time. */
  #waitOn(): void {
    clearTimeout(this.#abandoned)
    this.#abandoned = setTimeout(() => this.breakOff(), this.#audience?.patience)
    this.#abandoned.unref()
  }

  #over(): void {
    this.#reader.isWatched = false
    clearTimeout(this.#abandoned)
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
      // Before it is sent on, for from then on its bytes may change.
      const { chunk, done } = argumentsOf(args, isHeard)
      const part = this.#partOf(args)
      if (!isHeard && part !== null) return this.#sent('a part', () => write(part))
      const isReady = part !== null && this.#writeOn(part, chunk, write)
      if (chunk !== null) this.recording.write(chunk)
      if (this.#isGone) this.#waitOn()
      if (done !== null) process.nextTick(done)
      this.#cutOffSlow()
      return part === null && !this.recording.isHeard ? true : isReady || this.#isAnyReady
    })
    const end = this.#replace('end', (...args) => {
      const [first] = args as unknown[]
      if (this.#sending !== null) return end(args)
      if (Boolean(first) && typeof first !== 'function' && !isChunk(first)) return end(args)
      const { chunk, done } = argumentsOf(args, this.recording.isHeard)
      if (this.#course === null) {
        // What node does by itself where nobody asks for the head before the body.
        if (this.recording.isHeard && !isFramed(response)) response.setHeader('Content-Length', chunk?.length ?? 0)
        this.#sayHead()
      }
      if (chunk !== null) this.recording.write(chunk)
      if (this.#isUnsent) this.#pretendEnded()
      else this.#sent('the end', () => end(this.#partOf(args) ?? [done]))
      this.recording.end(isBodiless(response) ? null : this.#declared)
      this.#reader.isWatched = false
      if (this.#isUnsent && done !== null) process.nextTick(done)
      return response
    })
  }

  /** Whatever else a handler may say or ask of its response. */
  #hearRest(): void {
    const response = this.#response
    const destroy = this.#replace('destroy', (...args) => {
      this.#onClose()
      return destroy(args)
    })
    const needsDrain = (): boolean => {
      return Reflect.get(Object.getPrototypeOf(response) as object, 'writableNeedDrain', response) === true
    }
    this.#overrides.set('writableNeedDrain', {
      get: () => needsDrain() && !(this.recording.isHeard && this.#isAnyReady),
    })
    if (streamOf(response) !== null) this.#withholdClose()
    // The other is of HTTP/2.
    for (const name of ['addTrailers', 'setTrailer']) {
      if (!(name in response)) continue
      const add = this.#replace(name, (...trailers) => {
        if (!this.#isUnsent) add(trailers)
        this.recording.refuse('it has trailers')
      })
    }
  }

  /** With HTTP/2 a client ends its stream, and not the connection: the response tells of that, and nobody hears it. */
  #withholdClose(): void {
    const response = this.#response
    const emit = this.#replace('emit', (...args) => {
      const isClose = (args as unknown[])[0] === 'close' && this.#course?.to === 'client' && !this.#isGone
      if (!isClose || !this.recording.isFollowed || !hasClientLeft(response) || this.#audience === null)
        return emit(args)
      this.#overrides.value('destroyed', false)
      this.#goOnWithout(this.#audience)
      void this.recording.over.then(() => {
        this.#overrides.value('destroyed', true)
        emit(args)
      })
      return true
    })
  }

  /** @returns whether the client can take more at once */
  #writeOn(args: readonly unknown[], chunk: Buffer | null, write: (args: readonly unknown[]) => unknown): boolean {
    // Whoever waits for a callback would wait for the client.
    const more = this.#sent('a part', () => write(args.filter((each) => typeof each !== 'function')))
    return this.#backlog.write(chunk?.length ?? 0, more)
  }

  /** Replaces a method; returns what calls the one that was there, which is not the handler's. */
  #replace(name: string, method: (...args: never[]) => unknown): (args: readonly unknown[]) => unknown {
    const before = this.#overrides.method(name, method)
    return (args) => this.#reader.unwatched(() => before(args))
  }

  /** What of a chunk is sent; `null` for nothing. */
  #partOf(args: readonly unknown[]): readonly unknown[] | null {
    if (this.#isUnsent || this.#course?.to !== 'client') return null
    const { cut } = this.#course
    if (cut === undefined) return args
    const { chunk, done } = argumentsOf(args, true)
    const sent = chunk === null ? null : cut(chunk)
    return sent === null || sent.length === 0 ? null : [sent, done]
  }

  /** Sends a part of the body. What sends it may do so by another of these methods, and then it is no other part. */
  #sent<T>(what: 'a part' | 'the end', send: () => T): T {
    this.#sending = what
    try {
      return send()
    } finally {
      this.#sending = null
    }
  }

  /** Sends the head with some more lines; if that cannot be, nothing has been said yet. */
  #send(lines: MoreLines, writeHead: (args: readonly unknown[]) => unknown): void {
    try {
      sendHead(this.#response, lines, () => writeHead([this.#response.statusCode]))
    } catch (error) {
      this.#course = null
      throw error
    }
  }

  /** Nobody was sent anything; but the handler is to find what it would. */
  #pretendEnded(): void {
    this.#overrides.value('writableEnded', true)
    this.#overrides.value('finished', true)
  }

  /** Whether nothing is sent to the client. */
  get #isUnsent(): boolean {
    return this.#isGone || this.#course?.to === 'nobody'
  }

  /** Whether there is somebody besides the client who can take more at once; what is kept waits for nobody. */
  get #isAnyReady(): boolean {
    return this.recording.isWhole || this.recording.isAnyReady
  }

  /** As a client that follows, one that leads is cut off when it is too far behind. */
  #cutOffSlow(): void {
    const { isFollowed, isWhole } = this.recording
    if (!isFollowed || isWhole || this.#isUnsent || !this.#backlog.isTooLong) return
    if (streamOf(this.#response) === null) this.#departure?.cutOff()
    else cutOff(this.#response)
  }

  /** By the method of the response itself, which what stands behind may have replaced, to say more at this moment. */
  #sayHead(): void {
    if (this.#course === null) this.#response.writeHead(this.#response.statusCode)
  }

  #decideNow(): Head {
    const { statusCode: status } = this.#response
    // HTTP/2 has none (RFC 9113 section 8.3.2), and warns of being asked.
    const message = streamOf(this.#response) === null ? this.#response.statusMessage : undefined
    const head = { status, message, lines: linesOf(this.#response) }
    const declared = this.#response.getHeader('content-length')
    this.#declared = declared === undefined ? null : Number(declared)
    this.#course = this.#decide(head)
    if (this.#course.to === 'nobody') this.#overrides.value('headersSent', true)
    return head
  }
}

/** Whether it is said how long the body is, or cannot be; or there is none. */
function isFramed(response: ServerResponse): boolean {
  return (
    isBodiless(response) || ['content-length', 'transfer-encoding', 'trailer'].some((name) => response.hasHeader(name))
  )
}

function isBodiless({ statusCode, req }: ServerResponse): boolean {
  return statusCode === 204 || statusCode === 304 || req.method === 'HEAD'
}
