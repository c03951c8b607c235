import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { timers } from '../../core/time/clock.ts'
import { applyHead, argumentsOf, linesOf } from '../message/response-arguments.ts'
import { originOf } from './fetch-request.ts'
import { showThrough } from './fetch-shown.ts'

/** The answer of a handler; no `Response` if the handler has returned none. */
type Odd = Response | undefined

/** How many bytes may wait for a client before a handler has to wait. */
const highWaterMark = 65_536

/** The response of node:http that the cache writes to in place of a `Response`, which is made of it. */
export class FetchAnswer extends ServerResponse {
  readonly #answer: Promise<Response>
  readonly #connection: Duplex
  #settle!: { resolve(answer: Odd): void; reject(error: unknown): void }
  #body: ReadableStreamDefaultController<Uint8Array> | null = null
  #isOver = false
  /** Tells the handler that its client has gone away, and no other client needs the answer. */
  #departed: AbortController | null = null
  /** The error with which the answer ends. */
  #error: { readonly error: unknown } | null = null
  /** Whether the head is being said, or was said, that stands for the error. */
  #isFailing = false
  #isFailed = false

  /** Whether it is over only when its body is read: the code between the cache and the server is done with it then. */
  readonly #isUntilRead: boolean
  /** Whether it has a body as a whole, whose reading ends it. */
  #isRead = false

  constructor(incoming: IncomingMessage, { isUntilRead = false }: { readonly isUntilRead?: boolean } = {}) {
    super(incoming)
    this.#isUntilRead = isUntilRead
    this.#answer = new Promise<Odd>((resolve, reject) => (this.#settle = { resolve, reject })) as Promise<Response>
    // A client that has gone away may not look at it.
    this.#answer.catch(() => undefined)
    this.#connection = originOf(incoming).connection
    this.#connection.once('close', () => this.#abandon())
  }

  /** Whether the answer is recorded, or held back, on its way. */
  get #isRedirected(): boolean {
    return Object.hasOwn(this, 'writeHead')
  }

  /**
   * Resolves with what the client of a request is sent.
   * @returns a promise that rejects with the error of the handler
   */
  async sent(request: Request): Promise<Response> {
    if (!this.#isOver) request.signal.addEventListener('abort', () => this.#connection.destroy(), { once: true })
    return await this.#answer
  }

  /**
   * Runs the handler of a request, which it is shown through that of node:http, and takes its answer.
   * @param onLost called with the error of a handler whose client has its answer
   */
  async answered(request: Request, handler: () => Promise<Response>, onLost: (error: unknown) => void): Promise<void> {
    if (this.#isRedirected && request.method === 'GET') {
      this.#departed = new AbortController()
      showThrough(request, this.req, this.#departed.signal)
    }
    try {
      const answer = (await handler()) as Odd
      if (this.#isRedirected && isAnswer(answer) && answer.status >= 200) await sendTo(this, answer)
      else this.#pass(answer)
    } catch (error) {
      if (!this.#fail(error)) onLost(error)
    }
  }

  /** Ends with an answer that is not recorded, and adds the header lines that were set so far. */
  #pass(answer: Odd): void {
    const lines = linesOf(this)
    if (answer instanceof Response && answer.status >= 200 && lines.length > 0) {
      const { status, statusText, body } = answer
      // The fields of some answers cannot be changed.
      const headers = new Headers(answer.headers)
      for (const [name, value] of lines) if (!answer.headers.has(name)) headers.append(name, value)
      this.#finish(new Response(body, { status, statusText, headers }))
    } else this.#finish(answer)
  }

  /**
   * Answers the own client with an error, unless it is served something stale, and others with a 500.
   * @returns whether the own client waits for an answer
   */
  #fail(error: unknown): boolean {
    const isAwaited = !this.#isOver
    this.#error = { error }
    this.#isFailing = true
    this.writeHead(500, { 'Content-Length': 0 })
    this.end()
    this.#isFailing = false
    return isAwaited
  }

  override writeHead(...args: unknown[]): this {
    this.#isFailed = this.#isFailing
    applyHead(this, args)
    this.#say('headersSent', true)
    // Most answers end in the same turn, and are sent as a whole.
    timers.setImmediate(() => void (this.#isOver || this.#begin()))
    return this
  }

  override flushHeaders(): void {
    if (!this.headersSent) this.writeHead(this.statusCode)
    this.#begin()
  }

  override write(...args: unknown[]): boolean {
    const { done } = argumentsOf(args, false)
    if (done !== null) timers.nextTick(done)
    if (this.#isOver) return false
    this.flushHeaders()
    this.#enqueue(bytesOf(args))
    return (this.#body?.desiredSize ?? 1) > 0
  }

  override end(...args: unknown[]): this {
    if (this.#isOver) return this
    const { done } = argumentsOf(args, false)
    const hasChunk = args[0] !== undefined && args[0] !== null && typeof args[0] !== 'function'
    if (!this.headersSent) this.writeHead(this.statusCode)
    const chunk = hasChunk ? bytesOf(args) : null
    if (this.#body === null) this.#finish(this.#made(this.#isBodiless || chunk === null ? null : this.#whole(chunk)))
    else {
      if (chunk !== null) this.#enqueue(chunk)
      if (!this.#connection.destroyed) this.#body.close()
      this.#finish(undefined)
    }
    if (done !== null) timers.nextTick(done)
    return this
  }

  override destroy(error?: Error): this {
    if (!this.#isOver) this.#error ??= error === undefined ? null : { error }
    this.#abandon()
    this.#connection.destroy()
    return this
  }

  /** A body that is there as a whole. */
  #whole(chunk: Uint8Array): Uint8Array | ReadableStream<Uint8Array> {
    if (!this.#isUntilRead) return chunk
    this.#isRead = true
    const over = (): void => void timers.setImmediate(() => this.#close())
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      controller.enqueue(chunk)
      controller.close()
      over()
    }
    return new ReadableStream({ pull, cancel: over }, { highWaterMark: 0 })
  }

  /** Sends a chunk, unless its client has just gone away. */
  #enqueue(chunk: Uint8Array): void {
    if (!this.#isBodiless && !this.#connection.destroyed) this.#body?.enqueue(chunk)
  }

  /** Sends the head, and what is written from now on as it comes. */
  #begin(): void {
    if (this.#body !== null) return
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#body = controller),
        pull: () => void this.emit('drain'),
        cancel: () => void this.#connection.destroy(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark }),
    )
    // For a client that is too slow to be waited for.
    const waiting = (): number => Math.max(0, highWaterMark - (this.#body?.desiredSize ?? highWaterMark))
    Object.defineProperty(this, 'writableLength', { configurable: true, get: waiting })
    this.#settle.resolve(this.#made(this.#isBodiless ? null : body))
  }

  #made(body: Uint8Array | ReadableStream<Uint8Array> | null): Odd {
    if (this.#isFailed) this.#settle.reject(this.#error?.error)
    const { statusCode: status, statusMessage } = this
    const headers = new Headers()
    for (const [name, value] of linesOf(this)) headers.append(name, value)
    return new Response(body as Buffer | null, { status, statusText: statusMessage ?? '', headers })
  }

  #finish(answer: Odd): void {
    this.#isOver = true
    this.#settle.resolve(answer)
    for (const name of ['writableEnded', 'finished', 'writableFinished']) this.#say(name, true)
    timers.nextTick(() => {
      this.emit('finish')
      if (!this.#isRead) this.#close()
    })
  }

  /** Ends an answer that is not whole. */
  #abandon(): void {
    if (this.#isOver) return
    this.#isOver = true
    const error = this.#error?.error ?? new DOMException('The answer is incomplete', 'AbortError')
    this.#settle.reject(error)
    this.#body?.error(error)
    this.#departed?.abort(error)
    this.#close()
  }

  #close(): void {
    for (const name of ['closed', 'destroyed']) this.#say(name, true)
    this.emit('close')
  }

  get #isBodiless(): boolean {
    return this.req.method === 'HEAD' || [204, 205, 304].includes(this.statusCode)
  }

  /** Sets a property that is read-only for others. */
  #say(name: string, value: unknown): void {
    Object.defineProperty(this, name, { configurable: true, writable: true, value })
  }
}

function bytesOf([chunk, encoding]: readonly unknown[]): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding as BufferEncoding) : (chunk as Uint8Array)
}

/** Whether a value is a `Response`, also of another library than the runtime. */
function isAnswer(value: Odd): value is Response {
  if (value instanceof Response) return true
  const { status, headers, body } = (value ?? {}) as Partial<Response>
  const hasBody = body === null || typeof body?.getReader === 'function'
  return typeof status === 'number' && hasBody && typeof headers?.[Symbol.iterator] === 'function'
}

/** Writes the answer of a handler to the response that the cache sees. */
export async function sendTo(outgoing: ServerResponse, answer: Response): Promise<void> {
  outgoing.statusCode = answer.status
  if (answer.statusText !== '') outgoing.statusMessage = answer.statusText
  for (const [name, value] of answer.headers) outgoing.appendHeader(name, value)
  const { body } = answer
  if (body === null) return void outgoing.end()
  const reader = body.getReader()
  outgoing.once('close', () => void reader.cancel().catch(() => undefined))
  let held: Uint8Array | null = null
  let reads = 0
  // Most bodies are one chunk, and are sent as a whole; one that is not there by the next turn is sent as it comes.
  const flush = (): boolean => {
    const [chunk] = [held, (held = null)]
    if (chunk === null) outgoing.flushHeaders()
    return chunk === null || outgoing.write(chunk)
  }
  try {
    for (;;) {
      const read = ++reads
      timers.setImmediate(() => void (read === reads && flush()))
      const { done, value } = await reader.read()
      reads++
      if (done) break
      if (held !== null && !flush()) await drained(outgoing)
      held = value
    }
    outgoing.end(held ?? undefined)
  } catch (error) {
    outgoing.destroy(error as Error)
  }
}

async function drained(outgoing: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const over = (): void => {
      outgoing.off('drain', over).off('close', over)
      resolve()
    }
    outgoing.on('drain', over).on('close', over)
  })
}
