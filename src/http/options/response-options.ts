/*
 * Room: options. The options of response caching, and the plan that is made of them: complete, checked, in milliseconds
 * and bytes.
 *
 * Reading order: response-options.ts (the public options, their defaults and the plan), option-checks.ts (the checks of
 * single options), query-rule.ts (which parameters of a query belong to the key).
 */
import type { IncomingMessage } from 'node:http'
import { checkOptions, lifetime, oneOf, timeout, integer, boolean, type Check } from '../../core/options/checks.ts'
import type { Duration } from '../../core/time/duration.ts'
import { checkedTags } from '../../core/entry/tags.ts'
import { checkedSource } from '../../core/options/source-plan.ts'
import { aCondition, aKey, aUser, checkedStatuses, fieldNames, perRequest, someOf, strings } from './option-checks.ts'
import type { StatusRule } from '../policy/lifetime.ts'
import { queryRule, type QueryPlan, type QueryRule } from './query-rule.ts'

/** A value, or a function of the request that returns it. */
export type PerRequest<Value, Request> = Value | ((request: Request) => Value)

/**
 * The options of `cacheResponses` and `cachedServer`. Most may also be a function of the request; if it returns
 * `undefined`, the default applies.
 */
export interface CacheResponsesOptions<Request = IncomingMessage, Asker = object> {
  /**
   * How long a response without an explicit lifetime (`Cache-Control`, `Expires`) is fresh. 0: such a response is not
   * stored. `'heuristic'`: a tenth of the time since its `Last-Modified`, at most a day (RFC 9111 section 4.2.2).
   * Default: the `ttl` of the cache.
   */
  readonly ttl?: PerRequest<Duration | 'heuristic' | undefined, Request> | undefined
  /**
   * How long a stale response is served while it is refreshed in the background. The response may allow a longer time,
   * or forbid it. Default 0.
   */
  readonly grace?: PerRequest<Duration | undefined, Request> | undefined
  /** How long a stale response without an own `stale-if-error` is served in place of a 5xx error. Default 0. */
  readonly staleIfError?: PerRequest<Duration | undefined, Request> | undefined
  /**
   * Returns the key of the response, in place of the address. Default: scheme, host, path and query as they were sent.
   */
  readonly key?: ((request: Request) => string) | undefined
  /**
   * Returns the owner of the response, which becomes part of the key; the handler may then read everything that this
   * function has read. `null` and `undefined` mean a response for all clients. Default: one response for all clients,
   * so an answer whose handler reads the identity of a client is not stored.
   */
  readonly user?: ((asker: Asker) => string | number | bigint | null | undefined) | undefined
  /**
   * Properties that earlier middleware sets on each request and that tell no clients apart, as `Cache-Status` names
   * them (`req.tenant`) or without the object (`tenant`); `async` for all stores of AsyncLocalStorage. Default: only well-known ids, loggers and timers.
   */
  readonly shared?: readonly string[] | undefined
  /** Request fields that responses differ by, besides those in `Vary`. Default: none. */
  readonly vary?: PerRequest<readonly string[] | undefined, Request> | undefined
  /**
   * The treatment of a response whose handler has read a request field that its `Vary` does not name: the field becomes
   * part of the key (`'key'`, the default), the response is not stored (`'refuse'`), or `Vary` is trusted (`'ignore'`).
   */
  readonly undeclared?: PerRequest<'key' | 'refuse' | 'ignore' | undefined, Request> | undefined
  /** Returns `true` for a request that bypasses the cache. Default: no request does. */
  readonly skip?: ((request: Request) => boolean) | undefined
  /** The methods that are answered from the store; only GET fills it. Default `['GET', 'HEAD']`. */
  readonly methods?: PerRequest<readonly ('GET' | 'HEAD')[] | undefined, Request> | undefined
  /**
   * The statuses that are stored. Default: 200, 203, 300, 301 and 308 always; 204, 302, 303, 307, 404, 405, 410 and 414
   * with an explicit lifetime; no others. `'standard'`: every status that RFC 9111 allows, including errors.
   */
  readonly statuses?: PerRequest<'standard' | readonly number[] | undefined, Request> | undefined
  /**
   * Tags by which the responses can be invalidated, besides those in `Cache-Tag` and `Surrogate-Key`. Default: none.
   */
  readonly tags?: PerRequest<readonly string[] | undefined, Request> | undefined
  /** The longest body that is stored, in bytes; a longer one is passed through. Default 1048576 (1 MiB). */
  readonly maxBody?: PerRequest<number | undefined, Request> | undefined
  /** Whether `Cache-Control` of a request is heeded; any client can then bypass the cache. Default `false`. */
  readonly honorRequestDirectives?: PerRequest<boolean | undefined, Request> | undefined
  /**
   * The treatment of requests with a `Cookie`: they bypass the cache (`'pass'`, the default), the handler does not see
   * the cookie when it fills the cache (`'hide'`), or the cookie is an ordinary field (`'show'`).
   */
  readonly cookies?: PerRequest<'pass' | 'hide' | 'show' | undefined, Request> | undefined
  /**
   * The treatment of requests with `Authorization`: they bypass the cache (`'pass'`, the default), or they share
   * explicitly shared responses with requests that have none (`'share'`, RFC 9111 section 3.5).
   */
  readonly authorization?: PerRequest<'pass' | 'share' | undefined, Request> | undefined
  /** Query parameters that are not part of the key; `true` for all. Default: none. */
  readonly ignoreQuery?: PerRequest<true | readonly string[] | undefined, Request> | undefined
  /** The only query parameters that are part of the key. Default: all. */
  readonly allowQuery?: PerRequest<readonly string[] | undefined, Request> | undefined
  /**
   * How long requests do not wait for each other at an address whose last response could not be stored. Default `'5s'`.
   */
  readonly passFor?: Duration | undefined
  /**
   * How many requests of one process may wait for one address. A further request is answered 503 with `Retry-After`, or
   * with a stale response if that may replace an error. Default 10000.
   */
  readonly maxWaiters?: number | undefined
  /**
   * How many variants of an address, by request fields, each process stores. One more invalidates the variant that the
   * process stored longest ago. Variants by `user` do not count. Default 100.
   */
  readonly maxVariants?: number | undefined
  /**
   * How long a request waits for the load of another before it is answered 503, or with a stale response if that may
   * replace an error. Default: the `waitTimeout` of the cache.
   */
  readonly waitTimeout?: Duration | undefined
  /**
   * The source that the handler loads from: one of the option `sources` of the cache, whose limits then hold for the
   * handlers that fill the cache. Default: the `source` of the cache.
   */
  readonly source?: string | undefined
}

type Of<Value> = (request: IncomingMessage) => Value

/** The options, complete and checked, in milliseconds and bytes. */
export interface ResponsePlan {
  readonly ttl: Of<number | 'heuristic' | undefined>
  readonly grace: Of<number>
  readonly staleIfError: Of<number>
  readonly key: Of<string> | null
  readonly user: ((asker: object) => string | null) | null
  readonly shared: readonly string[]
  readonly vary: Of<readonly string[]>
  readonly undeclared: Of<'key' | 'refuse' | 'ignore'>
  readonly skip: Of<boolean>
  readonly methods: Of<readonly string[]>
  readonly statuses: Of<(status: number) => StatusRule>
  readonly tags: Of<readonly string[]>
  readonly maxBody: Of<number>
  readonly honorRequestDirectives: Of<boolean>
  readonly cookies: Of<'pass' | 'hide' | 'show'>
  readonly authorization: Of<'pass' | 'share'>
  readonly query: Of<QueryRule | null>
  readonly passFor: number
  readonly maxWaiters: number
  readonly maxVariants: number
  readonly waitTimeout: number | undefined
  readonly source: string | undefined
}

const always = new Set([200, 203, 300, 301, 308])
const explicit = new Set([204, 302, 303, 307, 404, 405, 410, 414])

function usualStatuses(status: number): StatusRule {
  if (always.has(status)) return 'always'
  return explicit.has(status) ? 'explicit' : 'never'
}

const defaults: Omit<ResponsePlan, 'query'> = {
  ttl: () => undefined,
  grace: () => 0,
  staleIfError: () => 0,
  key: null,
  user: null,
  shared: [],
  vary: () => [],
  undeclared: () => 'key',
  skip: () => false,
  methods: () => ['GET', 'HEAD'],
  statuses: () => usualStatuses,
  tags: () => [],
  maxBody: () => 1_048_576,
  honorRequestDirectives: () => false,
  cookies: () => 'pass',
  authorization: () => 'pass',
  passFor: 5_000,
  maxWaiters: 10_000,
  maxVariants: 100,
  waitTimeout: undefined,
  source: undefined,
}

const checks: Record<keyof CacheResponsesOptions, Check> = {
  ttl: perRequest((name, value) => (value === 'heuristic' ? value : lifetime(0)(name, value))),
  grace: perRequest(lifetime(0)),
  staleIfError: perRequest(lifetime(0)),
  key: aKey,
  user: aUser,
  shared: strings,
  vary: perRequest(fieldNames),
  undeclared: perRequest(oneOf('key', 'refuse', 'ignore')),
  skip: aCondition,
  methods: perRequest(someOf('GET', 'HEAD')),
  statuses: perRequest(checkedStatuses),
  tags: perRequest(checkedTags),
  maxBody: perRequest(integer(0)),
  honorRequestDirectives: perRequest(boolean),
  cookies: perRequest(oneOf('pass', 'hide', 'show')),
  authorization: perRequest(oneOf('pass', 'share')),
  ignoreQuery: perRequest((name, value) => (value === true ? value : strings(name, value))),
  allowQuery: perRequest(strings),
  passFor: timeout(1),
  maxWaiters: integer(1),
  maxVariants: integer(1),
  waitTimeout: timeout(1),
  source: checkedSource,
}

/**
 * Checks the options and makes the plan.
 * @param who the name of the public function, for error messages
 * @throws TypeError for an unknown option or an invalid value
 */
export function responsePlan<Request, Asker>(
  who: string,
  options: CacheResponsesOptions<Request, Asker>,
): ResponsePlan {
  const given = checkOptions(who, options, checks) as Partial<ResponsePlan> & QueryPlan
  const { ignoreQuery, allowQuery, ...rest } = given
  if (ignoreQuery !== undefined && allowQuery !== undefined) {
    throw new TypeError(`Expected one of \`ignoreQuery\` and \`allowQuery\` for ${who}, got both`)
  }
  const query: Of<QueryRule | null> = (request) => queryRule(ignoreQuery?.(request), allowQuery?.(request))
  return { ...defaults, ...orDefault(rest), query }
}

/** Applies the default where a function of the user returns `undefined`. */
function orDefault(given: Partial<ResponsePlan>): Partial<ResponsePlan> {
  const complete = Object.entries(given).map(([name, value]) => {
    const usual = defaults[name as keyof typeof defaults]
    if (typeof value !== 'function' || typeof usual !== 'function') return [name, value]
    return [name, (request: IncomingMessage) => value(request) ?? usual(request)]
  })
  return Object.fromEntries(complete) as Partial<ResponsePlan>
}
