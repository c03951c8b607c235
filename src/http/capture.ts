import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Overrides } from './overrides.ts'
import { argumentsOf, applyHead, isChunk, linesOf } from './response-arguments.ts'
import type { FieldLine } from './policy/fields.ts'

/** What a handler says before its body. */
export interface Head {
  readonly status: number
  readonly message: string | undefined
  readonly lines: readonly FieldLine[]
}

/** What becomes of an answer: it goes on to the client, with some more lines; or to nobody, for something else is sent. */
export type Course = { readonly to: 'client'; readonly with: readonly FieldLine[] } | { readonly to: 'nobody' }

/** How an answer ended: with its whole body, or with none that can be kept. */
export type Ended =
  | { readonly state: 'complete'; readonly body: Buffer }
  /** It is for its own client alone, as the next one would be. */
  | { readonly state: 'unfit'; readonly why: string }
  | { readonly state: 'broken'; readonly why: string }

/**
 * What a handler answers, heard on its way to the client, however it is said.
 *
 * The methods by which a response sends anything are replaced by ones that call those that were there. So whatever stands
 * before (compression, a session) sees what goes to the client as ever, and what stands behind is heard as it leaves there.
 */
export class Capture {
  /** Resolves with what is said before the body, when it is decided what becomes of it; with `null` if nothing ever is. */
  readonly head: Promise<Head | null>
  readonly ended: Promise<Ended>
  readonly #response: ServerResponse
  readonly #decide: (head: Head) => Course
  readonly #most: number
  readonly #reader: { isWatched: boolean }
  readonly #overrides: Overrides
  #onHead!: (head: Head | null) => void
  #onEnd!: (ended: Ended) => void
  #course: Course | null = null
  #chunks: Buffer[] = []
  #length = 0
  /** What `Content-Length` says. */
  #declared: number | null = null
  #over = false

  /**
   * @param decide called once, when all has been said that comes before the body
   * @param most bytes of a body that is kept
   * @param reader is told what is not the handler's: whatever is done before it, and after it has ended
   */
  constructor(response: ServerResponse, decide: (head: Head) => Course, most: number, reader = { isWatched: true }) {
    this.#response = response
    this.#decide = decide
    this.#most = most
    this.#reader = reader
    this.#overrides = new Overrides(response)
    this.head = new Promise((resolve) => (this.#onHead = resolve))
    this.ended = new Promise((resolve) => (this.#onEnd = resolve))
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

  readonly #onClose = (): void => this.#end({ state: 'broken', why: 'it was cut off' })

  #replaceMethods(): void {
    const response = this.#response
    const writeHead = this.#replace('writeHead', (...args) => {
      if (this.#course !== null) return this.#isHeard ? response : writeHead(args)
      applyHead(response, args)
      const head = this.#decideNow()
      const { course } = this
      if (course?.to === 'client') this.#send(course.with, writeHead)
      this.#onHead(head)
      return response
    })
    const flushHeaders = this.#replace('flushHeaders', () => {
      this.#sayHead()
      if (!this.#isHeard) flushHeaders([])
    })
    const write = this.#replace('write', (...args) => {
      if (!isChunk(args[0])) return write(args)
      this.#sayHead()
      const { chunk, done } = argumentsOf(args)
      const more = this.#isHeard ? true : write(args)
      this.#keep(chunk)
      if (this.#isHeard && done !== null) process.nextTick(done)
      return more
    })
    const end = this.#replace('end', (...args) => {
      const [first] = args as unknown[]
      if (Boolean(first) && typeof first !== 'function' && !isChunk(first)) return end(args)
      const { chunk, done } = argumentsOf(args)
      if (this.#course === null) {
        // What node does by itself where nobody asks for the head before the body.
        if (!isFramed(response)) response.setHeader('Content-Length', chunk?.length ?? 0)
        this.#sayHead()
      }
      this.#keep(chunk)
      if (this.#isHeard) this.#pretendEnded()
      else end(args)
      this.#complete()
      if (this.#isHeard && done !== null) process.nextTick(done)
      return response
    })
    const addTrailers = this.#replace('addTrailers', (trailers: OutgoingHttpHeaders) => {
      if (!this.#isHeard) addTrailers([trailers])
      this.#end({ state: 'unfit', why: 'it has trailers' })
    })
  }

  /** Replaces a method; returns what calls the one that was there, which is not the handler's. */
  #replace(name: string, method: (...args: never[]) => unknown): (args: readonly unknown[]) => unknown {
    const before = this.#overrides.method(name, method)
    return (args) => {
      this.#reader.isWatched = false
      try {
        return before(args)
      } finally {
        this.#reader.isWatched = !this.#over
      }
    }
  }

  /** Sends the head with some more lines; if that cannot be, nothing has been said yet. */
  #send(more: readonly FieldLine[], writeHead: (args: readonly unknown[]) => unknown): void {
    const response = this.#response
    const before = more.map(([name]) => [name, response.getHeader(name)] as const)
    for (const [name, value] of more) response.appendHeader(name, value)
    try {
      writeHead([response.statusCode])
    } catch (error) {
      this.#course = null
      for (const [name, value] of before) {
        if (value === undefined) response.removeHeader(name)
        else response.setHeader(name, value)
      }
      throw error
    }
  }

  /** Nobody was sent anything; but the handler is to find what it would. */
  #pretendEnded(): void {
    this.#overrides.value('writableEnded', true)
    this.#overrides.value('finished', true)
  }

  /** Whether the answer goes to nobody, and is only heard. */
  get #isHeard(): boolean {
    return this.#course?.to === 'nobody'
  }

  /** By the method of the response itself, which what stands behind may have replaced, to say more at this moment. */
  #sayHead(): void {
    if (this.#course === null) this.#response.writeHead(this.#response.statusCode)
  }

  #decideNow(): Head {
    const { statusCode: status, statusMessage: message } = this.#response
    const head = { status, message, lines: linesOf(this.#response) }
    const declared = this.#response.getHeader('content-length')
    this.#declared = declared === undefined ? null : Number(declared)
    this.#course = this.#decide(head)
    if (this.#isHeard) this.#overrides.value('headersSent', true)
    return head
  }

  #keep(chunk: Buffer | null): void {
    if (chunk === null || this.#over) return
    this.#length += chunk.length
    if (this.#length > this.#most) this.#end({ state: 'unfit', why: 'it is too large' })
    else this.#chunks.push(chunk)
  }

  #complete(): void {
    const isBodiless = this.#response.statusCode === 304 && this.#length === 0
    if (this.#declared !== null && this.#declared !== this.#length && !isBodiless) {
      this.#end({ state: 'broken', why: `it has ${this.#length} bytes, and not ${this.#declared} as it says` })
    } else this.#end({ state: 'complete', body: Buffer.concat(this.#chunks) })
  }

  #end(ended: Ended): void {
    if (this.#over) return
    this.#over = true
    this.#reader.isWatched = false
    this.#chunks = []
    this.#onHead(null)
    this.#onEnd(ended)
  }
}

/** Whether it is said how long the body is, or cannot be; or there is none. */
function isFramed(response: ServerResponse): boolean {
  const { statusCode } = response
  const isEmpty = statusCode === 204 || statusCode === 304 || response.req.method === 'HEAD'
  return isEmpty || ['content-length', 'transfer-encoding', 'trailer'].some((name) => response.hasHeader(name))
}
