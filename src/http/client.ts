import type { IncomingMessage, ServerResponse } from 'node:http'
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
  /** The request fields as they were sent. */
  readonly fields: Fields
  /** On the clock of `performance`. */
  readonly askedAt: number = performance.now()

  constructor(request: IncomingMessage, response: ServerResponse, run: () => void) {
    this.request = request
    this.response = response
    this.run = run
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
    this.run()
  }
}

/** What the rules have to know of a stored response. */
export function known({ stored, age }: Old): Stored {
  const { noCache, mustRevalidate, whileRevalidate, ifError } = stored.rules
  return { noCache, mustRevalidate, whileRevalidate, ifError, age, lifetime: stored.lifetime }
}
