import { systemClock } from '../../core/time/clock.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tellPassed } from '../message/cache-info.ts'
import { cacheStatusText, type CacheStatus, type Forwarded } from '../message/cache-status.ts'
import { hasEnded } from '../message/http2.ts'
import type { Request } from '../policy/message.ts'
import type { Stored } from '../policy/reuse.ts'
import { Inputs } from '../inputs/inputs.ts'
import { serve } from './serve.ts'
import type { Old, StoredResponse } from '../stored/stored-response.ts'
import type { GivenInputs } from '../inputs/given.ts'
import type { Surroundings } from '../inputs/surroundings.ts'
import type { Entered } from '../inputs/async-stores.ts'
import type { Visit } from '../inputs/visit.ts'

/** The arguments of `Client`. */
export interface ClientAbout {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly run: () => void
  readonly honor: boolean
  readonly surroundings: Surroundings
  readonly given: GivenInputs
  readonly user: string | null
  readonly visit: Visit
}

/** The client of a request, which waits for one answer. */
export class Client {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Runs the handler. */
  readonly run: () => void
  /** Whether the `Cache-Control` of its request is heeded. */
  readonly honor: boolean
  readonly surroundings: Surroundings
  readonly inputs: Inputs
  /** The owner of the answer, as returned by the option `user`; `null` for all clients. */
  readonly user: string | null
  readonly visit: Visit
  /** What each AsyncLocalStorage held where the request has entered the cache; `null` for nothing. */
  entered: Entered | null = null
  /** When it asked, on the clock of `performance`, in milliseconds. */
  readonly askedAt: number = systemClock.now()

  constructor(about: ClientAbout) {
    this.request = about.request
    this.response = about.response
    this.run = about.run
    this.honor = about.honor
    this.surroundings = about.surroundings
    this.user = about.user
    this.visit = about.visit
    this.inputs = new Inputs(about.request, about.surroundings, about.given)
  }

  get asked(): Request {
    return { method: this.request.method ?? 'GET', fields: this.inputs.fields }
  }

  /** Whether what the request is given always becomes part of the key. */
  get isApart(): boolean {
    return this.user !== null || this.visit.depth > 0
  }

  /** Whether it has been answered or has gone away. */
  get isDone(): boolean {
    return hasEnded(this.response) || this.response.headersSent
  }

  /**
   * Calls `back` when the client has gone away or its answer was sent.
   * @returns a function that cancels the call
   */
  whenGone(back: () => void): () => void {
    const { request, response } = this
    response.once('close', back)
    if (response.socket !== null) return () => void response.off('close', back)
    // A pipelined response, which has no connection yet, emits no `close` when its connection ends, so the request is
    // watched, too. A request also emits `close` once it has been read.
    const onClose = (): void => void (request.socket?.destroyed !== false && back())
    request.once('close', onClose)
    return () => {
      response.off('close', back)
      request.off('close', onClose)
    }
  }

  serve(stored: StoredResponse, age: number, status: CacheStatus): void {
    if (!this.isDone) serve(this.request, this.response, stored, { age, status })
  }

  serveOld({ stored, age }: Old, status: CacheStatus = {}): void {
    this.serve(stored, age, { ttl: stored.lifetime - age, ...status })
  }

  /** Runs the handler as if there were no cache. */
  goOn(detail: string, forwarded: Forwarded = 'bypass'): void {
    tellPassed(this.request, this.response, { forwarded, detail })
    this.run()
  }

  /** Answers with a status and no body. */
  refuse(status: number, why: CacheStatus, more: Record<string, string> = {}): void {
    if (this.isDone) return
    this.response.writeHead(status, { ...more, 'Content-Length': 0, 'Cache-Status': cacheStatusText(why) }).end()
  }

  /**
   * Answers 503 with `Retry-After`, to protect a handler that is overloaded.
   * @param retryAfter in milliseconds
   */
  putOff(forwarded: Forwarded, detail: string, retryAfter = 1_000): void {
    this.refuse(503, { forwarded, detail }, { 'Retry-After': String(Math.ceil(retryAfter / 1_000)) })
  }
}

/** A stored response as the rules of `policy/reuse.ts` see it. */
export function known({ stored, age }: Old): Stored {
  const { noCache, mustRevalidate, whileRevalidate, ifError } = stored.rules
  return { noCache, mustRevalidate, whileRevalidate, ifError, age, lifetime: stored.lifetime }
}
