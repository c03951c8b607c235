/*
 * Response caching, for no framework in particular. The rooms, from the ground up: policy (the rules of RFC 9111),
 * message (the messages of node:http), options, stored (stored responses and their keys), inputs (what an answer may
 * depend on), exchange (the course of a request), server (a node:http server with a cache).
 *
 * Reading order: response-cache.ts (which requests the cache takes, and the invalidation by unsafe methods),
 * exchange/exchange.ts (a request that it takes), then the head comment of each room. purge.ts invalidates on demand.
 */
import { checkKnownSource } from '../core/options/source-plan.ts'
import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cache } from '../core/cache/cache.ts'
import { loadFailedError } from '../core/errors.ts'
import { siblingOf, type Sibling } from '../core/cache/sibling.ts'
import { tellPassed } from './message/cache-info.ts'
import { Client } from './exchange/client.ts'
import { Exchange } from './exchange/exchange.ts'
import { kindOfError } from './exchange/late-load.ts'
import { fieldOf, fieldsOf } from './policy/fields.ts'
import { invalidatedUris, invalidates } from './policy/invalidation.ts'
import { hasBody } from './message/http2.ts'
import { holdEnd } from './message/held-end.ts'
import { applyHead, linesOf } from './message/response-arguments.ts'
import { Overrides } from './message/overrides.ts'
import { withoutIgnored } from './options/query-rule.ts'
import { addressOf, responseKey } from './stored/request-key.ts'
import type { Shared } from './exchange/shared.ts'
import { responsePlan, type CacheResponsesOptions, type ResponsePlan } from './options/response-options.ts'
import { responseCodec } from './stored/stored-response.ts'
import { Streams } from './exchange/streams.ts'
import { EarlierProperties } from './inputs/earlier-properties.ts'
import { givenOf } from './inputs/given.ts'
import { isComparable } from './inputs/changed-values.ts'
import type { Surroundings } from './inputs/surroundings.ts'
import { watchStorages } from './inputs/async-stores.ts'
import { VariantLimit } from './exchange/variant-limit.ts'
import { runBefore, visited, type RunningHandler, type Visit } from './inputs/visit.ts'
import { Waiters } from './exchange/waiters.ts'

/** A request that the cache has taken. */
interface Entry {
  readonly key: string
  readonly visit: Visit
  /** The run of a cache before this one; `null` without. */
  readonly outer: RunningHandler | null
}

/** How many requests in a row may bypass the cache for their cookies before somebody is told. */
const mostCookies = 100

const cookieAdvice =
  `${mostCookies} requests in a row had a cookie, and bypassed the cache of responses. ` +
  "For pages that are the same for all: `cookies: 'hide'`. " +
  "For pages of one user each: `cookies: 'show', user: (req) => req.session.userId`"

/** The cached responses of a handler; the middleware of each framework is a thin layer above it. */
export class ResponseCache {
  readonly #sibling: Sibling
  readonly #plan: ResponsePlan
  readonly #shared: Shared
  /** How many requests in a row have bypassed for a cookie; `null` if the options say what is to be done with cookies. */
  #cookies: number | null

  /**
   * @param who the name of the public function that was called, for error messages
   * @throws TypeError for an unknown option, an invalid value, or a cache that was not made by `createCache`
   */
  constructor(who: string, cache: Cache, options: CacheResponsesOptions<never, never>) {
    this.#plan = responsePlan(who, options)
    this.#cookies = options.cookies === undefined ? 0 : null
    watchStorages()
    this.#sibling = siblingOf(cache, { codec: responseCodec, errorKind: kindOfError })
    checkKnownSource(this.#plan.source, this.#sibling.sources)
    this.#shared = {
      sibling: this.#sibling,
      plan: this.#plan,
      streams: new Streams(),
      waiters: new Waiters(),
      limit: new VariantLimit(this.#sibling, this.#plan.maxVariants),
      refreshing: new Set(),
      earlierProperties: new EarlierProperties(this.#plan.shared),
      outside: new AsyncResource('herdless.responses'),
    }
  }

  /**
   * Answers a request from the store, or runs the handler for this client and for other waiting clients.
   * @param run runs the handler; called at most once: at once, later, or after the client was answered
   * @param surroundings the inputs of the request besides its fields
   * @returns a promise that resolves when the cache is done with the request; `undefined` if it is already
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    run: () => void,
    surroundings: Surroundings,
  ): Promise<void> | undefined {
    const entry = this.#enter(request, response)
    if (entry === null) {
      run()
      return undefined
    }
    const { key, visit, outer } = entry
    const honor = this.#plan.honorRequestDirectives(request)
    const user = this.#plan.user?.(surroundings.asker) ?? null
    const about = { request, response, surroundings, user, visit }
    const given = givenOf(about, this.#plan, this.#shared.earlierProperties)
    if (!given.changed.every(isComparable)) {
      tellPassed(request, response, { forwarded: 'bypass', detail: 'changed' })
      run()
      return undefined
    }
    const client = new Client({ request, response, run, honor, surroundings, given, user, visit })
    const exchange = new Exchange(this.#shared, client, key)
    // A cache before this one holds the lease of the same address until then.
    return outer === null ? exchange.begin() : outer.settled.then(() => exchange.begin())
  }

  /** The key and the visit of a request that the cache takes; `null` if the handler answers it without the cache. */
  #enter(request: IncomingMessage, response: ServerResponse): Entry | null {
    const address = addressOf(request)
    if (address === null || this.#plan.skip(request)) return null
    const visit = visited(request, this)
    if (visit === null) return null
    const outer = runBefore(visit)
    if (outer?.giveWay() === 'handler') return null
    const key = this.#keyFor(request, response, address)
    return key === null ? null : { key, visit, outer }
  }

  /**
   * Answers a request like `handle`, with a `run` that returns a promise of the answer.
   * @returns whether the handler ran; resolves when it has answered, or when the cache is done without it
   */
  async handled(
    request: IncomingMessage,
    response: ServerResponse,
    run: () => Promise<unknown>,
    surroundings: Surroundings,
  ): Promise<boolean> {
    return await new Promise((resolve, reject) => {
      const over = this.handle(request, response, () => resolve(run().then(() => true)), surroundings)
      Promise.resolve(over).then(() => resolve(false), reject)
    })
  }

  /** The key of a request; `null` if the handler answers it without the cache. */
  #keyFor(request: IncomingMessage, response: ServerResponse, address: string): string | null {
    const { method = 'GET' } = request
    const key = responseKey(this.#plan.key?.(request) ?? withoutIgnored(address, this.#plan.query(request)))
    if (method !== 'GET' && method !== 'HEAD') {
      this.#invalidateAfter(request, response, address, key)
      return null
    }
    const why = this.#passes(request, response)
    if (this.#cookies !== null) this.#countCookies(why)
    if (why === null) return key
    tellPassed(request, response, { forwarded: 'bypass', detail: why })
    return null
  }

  #countCookies(why: string | null): void {
    this.#cookies = why === 'cookie' ? (this.#cookies ?? 0) + 1 : 0
    if (this.#cookies === mostCookies) this.#sibling.events.advise('HERDLESS_COOKIES', cookieAdvice)
  }

  /** Emits a `failure` event for an option that has thrown. */
  failed(request: IncomingMessage, cause: unknown): void {
    const key = responseKey(addressOf(request) ?? request.url ?? '')
    this.#sibling.events.emit('failure', { key, error: loadFailedError(key, cause), duration: 0 })
  }

  /** The reason why a request bypasses the cache; `null` for none. */
  #passes(request: IncomingMessage, response: ServerResponse): string | null {
    const { method = 'GET', headers } = request
    if (this.#sibling.mode === 'off') return 'off'
    if (!this.#plan.methods(request).includes(method)) return 'method'
    if (hasBody(request, response)) return 'body'
    if (headers.upgrade !== undefined) return 'upgrade'
    if (headers.cookie !== undefined && this.#plan.cookies(request) === 'pass') return 'cookie'
    if (headers.authorization !== undefined && this.#plan.authorization(request) === 'pass') return 'authorization'
    // RFC 9111 section 4.3.2: only the origin can evaluate these conditions.
    return headers['if-match'] !== undefined || headers['if-unmodified-since'] !== undefined ? 'condition' : null
  }

  /**
   * Invalidates the stored responses of an address after a successful answer to an unsafe method (RFC 9111 section
   * 4.4). The end of the answer is held back until the invalidation is done, and so is the chunk by which its declared
   * length is complete, so that the next request of the client sees its own change.
   */
  #invalidateAfter(request: IncomingMessage, response: ServerResponse, address: string, key: string): void {
    const overrides = new Overrides(response)
    // The fields of a head are known when it is sent, some of them only then.
    const writeHead = overrides.method('writeHead', (...args) => {
      if (response.headersSent) return writeHead(args)
      applyHead(response, args)
      return writeHead([response.statusCode])
    })
    const invalidated = async (): Promise<void> => {
      const fields = fieldsOf(linesOf(response))
      const others = invalidatedUris(address, fieldOf(fields, 'location'), fieldOf(fields, 'content-location'))
      const query = this.#plan.query(request)
      const keys = new Set([key, ...others.map((uri) => responseKey(withoutIgnored(uri, query)))])
      // An unreachable store emits events of its own; the answer to the client does not depend on it.
      await Promise.allSettled([...keys].map((each) => this.#sibling.cache.invalidate(each)))
    }
    holdEnd(overrides, response, {
      isHeld: () => invalidates(request.method ?? '', response.statusCode),
      until: invalidated,
    })
  }
}
