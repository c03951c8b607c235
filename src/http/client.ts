import type { IncomingMessage, ServerResponse } from 'node:http'
import { tellHandler } from './cache-info.ts'
import { cacheStatusText, type CacheStatus, type Forwarded } from './cache-status.ts'
import type { Old } from './decision.ts'
import type { Fields } from './policy/fields.ts'
import type { Request } from './policy/message.ts'
import type { Stored } from './policy/reuse.ts'
import { serve } from './serve.ts'
import type { StoredResponse } from './stored-response.ts'

/** Who has sent a request, and waits for one answer. */
export class Client {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Has the handler answer. */
  readonly run: () => void
  /** Whether it may ask something of the cache, in its `Cache-Control`. */
  readonly honor: boolean
  /** The request fields as they were sent. */
  readonly fields: Fields
  /** On the clock of `performance`. */
  readonly askedAt: number = performance.now()

  constructor(about: { request: IncomingMessage; response: ServerResponse; run: () => void; honor: boolean }) {
    const { request, response, run, honor } = about
    this.request = request
    this.response = response
    this.run = run
    this.honor = honor
    this.fields = request.headers
  }

  get asked(): Request {
    return { method: this.request.method ?? 'GET', fields: this.fields }
  }

  /** Whether it has been answered, or has gone away. */
  get isDone(): boolean {
    return this.response.destroyed || this.response.headersSent
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
