import type { IncomingMessage } from 'node:http'
import { checkOptions, lifetime, oneOf, timeout, integer, boolean, type Check } from '../../core/options/checks.ts'
import type { Duration } from '../../core/time/duration.ts'
import { checkedTags } from '../../core/entry/tags.ts'
import { aFunction, aKey, aUser, checkedStatuses, fieldNames, perRequest, someOf, strings } from './option-checks.ts'
import type { StatusRule } from '../policy/lifetime.ts'
import { queryRule, type QueryPlan, type QueryRule } from './query-rule.ts'

/** A value, or what gives one for a request. */
export type PerRequest<Value, Request> = Value | ((request: Request) => Value)

/** What may be said of the responses that are cached; most of it also as a function of the request, where `undefined` is the default. */
export interface CacheResponsesOptions<Request = IncomingMessage, Asker = object> {
  /**
   * How long a response is fresh that does not say so itself (`Cache-Control`, `Expires`); 0 for not at all: then only those
   * are stored that do; `'heuristic'` for a tenth of the time since its `Last-Modified`, up to a day (RFC 9111, section 4.2.2).
   * Default: the `ttl` of the cache.
   */
  readonly ttl?: PerRequest<Duration | 'heuristic' | undefined, Request> | undefined
  /** How long a response is served stale while it is refreshed, unless it forbids that or allows more itself. Default 0. */
  readonly grace?: PerRequest<Duration | undefined, Request> | undefined
  /** How long a stale response is served instead of an error (5xx), if it does not say so itself. Default 0. */
  readonly staleIfError?: PerRequest<Duration | undefined, Request> | undefined
  /** What tells responses apart, instead of the address. Default: scheme, host, path and query as they were sent. */
  readonly key?: ((request: Request) => string) | undefined
  /**
   * Whose the response is: a part of the key, so that what it is made of may be read by the handler; `null` and `undefined` for
   * everybody. Default: everybody, so that what identifies a client must not be read.
   */
  readonly user?: ((asker: Asker) => string | number | bigint | null | undefined) | undefined
  /**
   * What earlier middleware puts on each request that is the same for all, or matters to no response, as `Cache-Status` names
   * it (`req.tenant`) or without its part (`tenant`). Default: none but ids, loggers and timers that are well known.
   */
  readonly shared?: readonly string[] | undefined
  /** Names of request fields that responses differ by, whatever they say themselves. Default: none. */
  readonly vary?: PerRequest<readonly string[] | undefined, Request> | undefined
  /**
   * What becomes of a response whose handler has read a request field that its `Vary` does not name: the field is made part of
   * the key (`'key'`, default), the response is not stored (`'refuse'`), or what the handler declares is believed (`'ignore'`).
   */
  readonly undeclared?: PerRequest<'key' | 'refuse' | 'ignore' | undefined, Request> | undefined
  /** Says for which requests there is no cache. Default: for none. */
  readonly skip?: ((request: Request) => boolean) | undefined
  /** The methods whose requests are answered from what is stored; it is always filled by GET. Default `['GET', 'HEAD']`. */
  readonly methods?: PerRequest<readonly ('GET' | 'HEAD')[] | undefined, Request> | undefined
  /**
   * The statuses that are stored. Default: 200, 203, 300, 301, 308 in any case; 204, 302, 303, 307, 404, 405, 410 and 414 if the
   * response says how long it is fresh; no others. `'standard'`: whatever RFC 9111 allows, errors included.
   */
  readonly statuses?: PerRequest<'standard' | readonly number[] | undefined, Request> | undefined
  /** What the responses can be invalidated by, besides what they say in `Cache-Tag` or `Surrogate-Key`. Default: none. */
  readonly tags?: PerRequest<readonly string[] | undefined, Request> | undefined
  /** The longest body that is stored, in bytes; a longer one is passed on as it comes. Default 1048576 (1 MiB). */
  readonly maxBody?: PerRequest<number | undefined, Request> | undefined
  /** Whether `Cache-Control` of a request is heeded, so that any client can pass the cache by. Default `false`. */
  readonly honorRequestDirectives?: PerRequest<boolean | undefined, Request> | undefined
  /**
   * Requests with a `Cookie`: they go to the handler, and nothing is stored (`'pass'`, default), or the handler does not see the
   * cookie when it fills (`'hide'`), or it is as any other field (`'show'`).
   */
  readonly cookies?: PerRequest<'pass' | 'hide' | 'show' | undefined, Request> | undefined
  /**
   * Requests with `Authorization`: they go to the handler, and nothing is stored (`'pass'`, default), or they are answered
   * together with those that have none, where a response says that it is for everybody (`'share'`: RFC 9111, section 3.5).
   */
  readonly authorization?: PerRequest<'pass' | 'share' | undefined, Request> | undefined
  /** Parameters of the query that are no part of the key; `true` for all. Default: none. */
  readonly ignoreQuery?: PerRequest<true | readonly string[] | undefined, Request> | undefined
  /** The parameters of the query that are part of the key, and no others. Default: all. */
  readonly allowQuery?: PerRequest<readonly string[] | undefined, Request> | undefined
  /** For how long nobody is made to wait at an address whose last response could not be stored. Default `'5s'`. */
  readonly passFor?: Duration | undefined
  /**
   * How many requests may wait for one address in one process; whoever comes then is answered 503 with `Retry-After`, or with
   * what is stale where that may be served instead of an error. Default 10000.
   */
  readonly maxWaiters?: number | undefined
  /**
   * How many answers of one address that differ by request fields each process stores; the one it stored first is voided then.
   * Those that differ by `user` do not count. Default 100.
   */
  readonly maxVariants?: number | undefined
  /** How long a request waits for what another is loading before it goes to the handler itself. Default: as of the cache. */
  readonly waitTimeout?: Duration | undefined
}

type Of<Value> = (request: IncomingMessage) => Value

/** The same, complete and checked, in milliseconds and bytes. */
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
  skip: aFunction,
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
}

/** The plan of a cache of responses. Throws TypeError for what is not an option or not a value it can have. */
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

/** Where a function of the user's returns `undefined`, the default holds. */
function orDefault(given: Partial<ResponsePlan>): Partial<ResponsePlan> {
  const complete = Object.entries(given).map(([name, value]) => {
    const usual = defaults[name as keyof typeof defaults]
    if (typeof value !== 'function' || typeof usual !== 'function') return [name, value]
    return [name, (request: IncomingMessage) => value(request) ?? usual(request)]
  })
  return Object.fromEntries(complete) as Partial<ResponsePlan>
}
