import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Overrides } from './overrides.ts'
import { argumentsOf, applyHead, linesOf } from './response-arguments.ts'
import type { FieldLine } from './policy/fields.ts'
import { Recording } from './recording.ts'

/** What a handler says before its body. */
export interface Head {
  readonly status: number
  readonly message: string
  readonly lines: readonly FieldLine[]
}

/** What becomes of an answer: it goes on to the client, with some more lines; or to nobody, for something else is sent. */
export type Course = { readonly to: 'client'; readonly with: readonly FieldLine[] } | { readonly to: 'nobody' }

/**
 * How long a handler may still answer whose client has gone before anything was said, in milliseconds: it may not have heard
 * that it has, or may have given up.
 */
const patience = 1_000

/**
 * What a handler answers, heard on its way to the client, however it is said.
 *
 * The methods by which a response sends anything are replaced by ones that call those that were there. So whatever stands
 * before (compression, a session) sees what goes to the client as ever, and what stands behind is heard as it leaves there.
 */
export class Capture {
  /** Resolves with what is said before the body, when it is decided what becomes of it; with `null` if nothing ever is. */
  readonly head: Promise<Head | null>
  readonly recording: Recording
  readonly #response: ServerResponse
  readonly #decide: (head: Head) => Course
  readonly #overrides: Overrides
  #onHead!: (head: Head | null) => void
  #course: Course | null = null
  /** What `Content-Length` says. */
  #declared: number | null = null
  #abandoned: NodeJS.Timeout | undefined

  /**
   * @param decide called once, when all has been said that comes before the body
   * @param most bytes of a body that is kept
   */
  constructor(response: ServerResponse, decide: (head: Head) => Course, most: number) {
    this.#response = response
    this.#decide = decide
    this.recording = new Recording(most)
    this.#overrides = new Overrides(response)
    this.head = new Promise((resolve) => (this.#onHead = resolve))
    void this.recording.ended.then(() => this.#over())
    this.#replaceMethods()
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

  readonly #onClose = (): void => {
    const cutOff = (): void => this.recording.break('it was cut off')
    if (this.#course !== null) return cutOff()
    this.#abandoned = setTimeout(cutOff, patience)
    this.#abandoned.unref()
  }

  #over(): void {
    clearTimeout(this.#abandoned)
    this.#onHead(null)
  }

  #replaceMethods(): void {
    const response = this.#response
    const overrides = this.#overrides
    const writeHead = overrides.method('writeHead', (...args) => {
      if (this.#course !== null) return this.#isUnsent ? response : writeHead(args)
      applyHead(response, args)
      const course = this.#decideNow()
      if (course.to === 'nobody') return response
      for (const [name, value] of course.with) response.appendHeader(name, value)
      return writeHead([response.statusCode])
    })
    const flushHeaders = overrides.method('flushHeaders', () => {
      this.#sayHead()
      if (!this.#isUnsent) flushHeaders([])
    })
    const write = overrides.method('write', (...args) => {
      this.#sayHead()
      // Before it is sent on, for from then on its bytes may change.
      const { chunk, done } = argumentsOf(args, this.recording.isHeard)
      const more = this.#isUnsent ? true : write(args)
      if (chunk !== null) this.recording.write(chunk)
      if (this.#isUnsent && done !== null) process.nextTick(done)
      return more
    })
    const end = overrides.method('end', (...args) => {
      const { chunk, done } = argumentsOf(args, this.recording.isHeard)
      if (this.#course === null) {
        // What node does by itself where nobody asks for the head before the body.
        if (this.recording.isHeard && !isFramed(response)) response.setHeader('Content-Length', chunk?.length ?? 0)
        this.#sayHead()
      }
      if (this.#isUnsent) this.#pretendEnded()
      else end(args)
      if (chunk !== null) this.recording.write(chunk)
      this.recording.end(isBodiless(response) ? null : this.#declared)
      if (this.#isUnsent && done !== null) process.nextTick(done)
      return response
    })
    const addTrailers = overrides.method('addTrailers', (trailers: OutgoingHttpHeaders) => {
      if (!this.#isUnsent) addTrailers([trailers])
      this.recording.break('it has trailers')
    })
  }

  /** Nobody was sent anything; but the handler is to find what it would. */
  #pretendEnded(): void {
    this.#overrides.value('writableEnded', true)
    this.#overrides.value('finished', true)
  }

  /** Whether the answer goes to nobody. */
  get #isUnsent(): boolean {
    return this.#course?.to === 'nobody'
  }

  /** By the method of the response itself, which what stands behind may have replaced, to say more at this moment. */
  #sayHead(): void {
    if (this.#course === null) this.#response.writeHead(this.#response.statusCode)
  }

  #decideNow(): Course {
    const { statusCode: status, statusMessage: message } = this.#response
    const head = { status, message, lines: linesOf(this.#response) }
    const declared = this.#response.getHeader('content-length')
    this.#declared = declared === undefined ? null : Number(declared)
    const course = this.#decide(head)
    this.#course = course
    if (course.to === 'nobody') this.#overrides.value('headersSent', true)
    this.#onHead(head)
    return course
  }
}

/** Whether it is said how long the body is, or there is none. */
function isFramed(response: ServerResponse): boolean {
  return isBodiless(response) || response.hasHeader('content-length') || response.hasHeader('transfer-encoding')
}

function isBodiless({ statusCode, req }: ServerResponse): boolean {
  return statusCode === 204 || statusCode === 304 || req.method === 'HEAD'
}
