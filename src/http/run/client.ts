import type { IncomingMessage, ServerResponse } from 'node:http'
import { tellHandler } from '../message/cache-info.ts'
import { cacheStatusText, type CacheStatus, type Forwarded } from '../message/cache-status.ts'
import { hasEnded } from '../message/http2.ts'
import type { Request } from '../policy/message.ts'
import type { Stored } from '../policy/reuse.ts'
import { Selection } from '../watch/selection.ts'
import { serve } from '../answer/serve.ts'
import type { Old, StoredResponse } from '../stored/stored-response.ts'
import type { Surroundings } from '../watch/surroundings.ts'
import type { Visit } from '../watch/visit.ts'

/** What is known of a client when its request comes. */
export interface ClientAbout {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly run: () => void
  readonly honor: boolean
  readonly surroundings: Surroundings
  readonly before: string
  readonly user: string | null
  readonly visit: Visit
}

/** Who has sent a request, and waits for one answer. */
export class Client {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Has the handler answer. */
  readonly run: () => void
  /** Whether it may ask something of the cache, in its `Cache-Control`. */
  readonly honor: boolean
  readonly surroundings: Surroundings
  readonly selection: Selection
  /** Whose answer it is, in the words of the option `user`; `null` where it is for everybody. */
  readonly user: string | null
  readonly visit: Visit
  /** On the clock of `performance`. */
  readonly askedAt: number = performance.now()

  constructor(about: ClientAbout) {
    this.request = about.request
    this.response = about.response
    this.run = about.run
    this.honor = about.honor
    this.surroundings = about.surroundings
    this.user = about.user
    this.visit = about.visit
    this.selection = new Selection(about.request, about.surroundings, about.before)
  }

  get asked(): Request {
    return { method: this.request.method ?? 'GET', fields: this.selection.fields }
  }

  /** Whether it has been answered, or has gone away. */
  get isDone(): boolean {
    return hasEnded(this.response) || this.response.headersSent
  }

  /**
   * Calls back when it has gone away, or its answer is sent.
   * @returns what has nobody called back
   */
  whenGone(back: () => void): () => void {
    const { request, response } = this
    // The answer to a request behind another is not told; a request is closed when it is read, too.
    const onClose = (): void => void (request.socket?.destroyed !== false && back())
    response.once('close', back)
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
    this.serve(stored, age, { hit: { ttl: stored.lifetime - age }, ...status })
  }

  /** Has the handler answer as if there were no cache. */
  goOn(detail: string, forwarded: Forwarded = 'bypass'): void {
    this.response.setHeader('Cache-Status', cacheStatusText({ forwarded, detail }))
    tellHandler(this.request, { forwarded, detail, background: false })
    this.run()
  }

  /** Answers in place of the handler, with nothing but a status. */
  refuse(status: number, why: CacheStatus, more: Record<string, string> = {}): void {
    if (this.isDone) return
    this.response.writeHead(status, { ...more, 'Content-Length': 0, 'Cache-Status': cacheStatusText(why) }).end()
  }

  /** The handler would have more to bear than it can. */
  putOff(forwarded: Forwarded, detail: string): void {
    this.refuse(503, { forwarded, detail }, { 'Retry-After': '1' })
  }
}

/** What the rules have to know of a stored response. */
export function known({ stored, age }: Old): Stored {
  const { noCache, mustRevalidate, whileRevalidate, ifError } = stored.rules
  return { noCache, mustRevalidate, whileRevalidate, ifError, age, lifetime: stored.lifetime }
}
