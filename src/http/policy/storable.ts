import { allows, directivesOf, secondsOf, type Directives } from './directives.ts'
import { fieldOf, type Fields } from './fields.ts'
import { lifetimeOf, type LifetimeRules } from './lifetime.ts'
import { staleRules } from './stale.ts'
import type { Request, Response } from './message.ts'
import { varyOf } from './vary.ts'

/** Why a response is not stored; short enough for the `detail` of Cache-Status. */
export type Why =
  | 'method'
  | 'request-no-store'
  | 'status'
  | 'partial'
  | 'no-store'
  | 'private'
  | 'vary'
  | 'authorization'
  | 'cookie'
  | 'set-cookie'
  | 'no-validator'
  | 'no-freshness'

export type Storable = { readonly store: true } | { readonly store: false; readonly why: Why }

/**
 * Whether what may be personal is stored: never, only where the response says that it is for everybody, always. The
 * standard's are 'explicit' for Authorization and 'always' for the others.
 */
export type PersonalRule = 'never' | 'explicit' | 'always'

/** What is stored of what the standard allows. */
export interface StoreRules extends LifetimeRules {
  /** Responses to requests with Authorization. */
  readonly authorization: PersonalRule
  /** Responses to requests with Cookie. */
  readonly cookie: PersonalRule
  /** Responses with Set-Cookie. */
  readonly setCookie: PersonalRule
  /** Whether the request's no-store is honored. */
  readonly honor: boolean
}

/**
 * RFC 9111 section 3: whether a shared cache stores this response to this request. Only what may be of use is stored: what
 * is never fresh, may not be served stale and has no validator is not.
 * @param receivedAt when its header came, in milliseconds since the epoch
 */
export function storable(request: Request, response: Response, rules: StoreRules, receivedAt: number): Storable {
  const why =
    refusedByRequest(request, rules) ??
    refusedByStatus(response, rules) ??
    refusedByControl(response) ??
    refusedAsPersonal(request, response, rules) ??
    refusedAsUseless(response, rules, receivedAt)
  return why === null ? { store: true } : { store: false, why }
}

/** RFC 9111 section 3: the method, of which only GET is stored here; section 5.2.1.5: no-store in the request. */
function refusedByRequest({ method, fields }: Request, { honor }: StoreRules): Why | null {
  if (method !== 'GET') return 'method'
  return honor && directivesOf(fieldOf(fields, 'cache-control')).has('no-store') ? 'request-no-store' : null
}

// Those that answer the conditions or the range of one request: whoever asks without them is to hear something else.
const ofOneRequest: ReadonlySet<number> = new Set([304, 412, 416])

/** RFC 9111 section 3: a final status, and section 3.3: nothing partial. */
function refusedByStatus({ status }: Response, { statuses }: StoreRules): Why | null {
  if (status === 206) return 'partial'
  const isFinal = status >= 200 && status <= 599
  return !isFinal || ofOneRequest.has(status) || statuses(status) === 'never' ? 'status' : null
}

// Those whose rules for caches (RFC 9110 section 15) are obeyed here.
const understood: ReadonlySet<number> = new Set([
  200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 500, 501, 502, 503, 504,
])

function refusedByControl({ status, fields, control: { directives } }: Response): Why | null {
  // RFC 9111 section 5.2.2.3: who understands the status heeds must-understand and not the no-store beside it.
  const mustUnderstand = directives.has('must-understand')
  if (mustUnderstand && !understood.has(status)) return 'status'
  if (directives.has('no-store') && !allows(directives, 'must-understand')) return 'no-store'
  // RFC 9111 section 5.2.2.7: private that names fields may be taken for one that does not.
  if (directives.has('private')) return 'private'
  // RFC 9111 section 4.1: what varies by anything is never found again.
  return varyOf(fields) === '*' ? 'vary' : null
}

function refusedAsPersonal(request: Request, response: Response, rules: StoreRules): Why | null {
  const { directives } = response.control
  const shared = isShared(directives)
  // RFC 9111 section 3.5: those three allow to share what was asked for with credentials.
  const sharedThough = shared || allows(directives, 'must-revalidate')
  if (refuses(rules.authorization, sharedThough) && has(request.fields, 'authorization')) return 'authorization'
  if (refuses(rules.cookie, shared) && has(request.fields, 'cookie')) return 'cookie'
  // RFC 9111 section 7.3: whoever receives a cookie of somebody else is taken for them.
  return refuses(rules.setCookie, shared) && has(response.fields, 'set-cookie') ? 'set-cookie' : null
}

/** Whether a response says that it is for everybody: by public, or by s-maxage, which only shared caches heed. */
function isShared(directives: Directives): boolean {
  return allows(directives, 'public') || typeof secondsOf(directives, 's-maxage') === 'number'
}

function refuses(rule: PersonalRule, isExplicit: boolean): boolean {
  return rule === 'never' || (rule === 'explicit' && !isExplicit)
}

/** RFC 9111 section 3, its last condition: it says how long it is fresh, or does not have to; and it will be of use. */
function refusedAsUseless(response: Response, rules: StoreRules, receivedAt: number): Why | null {
  const { noCache, whileRevalidate, ifError } = staleRules(response)
  const isValidated = hasValidator(response.fields)
  if (noCache && !isValidated) return 'no-validator'
  const { ms, from } = lifetimeOf(response, rules, receivedAt)
  const isSaid = from !== 'none'
  const isAllowed =
    isSaid || rules.statuses(response.status) === 'always' || allows(response.control.directives, 'public')
  // To ask about it each time is worth it only if it was told so: a handler that says nothing is not to be queued for.
  const isOfUse = ms > 0 || whileRevalidate > 0 || (ifError ?? 0) > 0 || (isValidated && (isSaid || noCache))
  return isAllowed && isOfUse ? null : 'no-freshness'
}

/** RFC 9110 section 8.8: whether there is anything to validate it with. */
export function hasValidator(fields: Fields): boolean {
  return Boolean(fieldOf(fields, 'etag')) || Boolean(fieldOf(fields, 'last-modified'))
}

function has(fields: Fields, name: string): boolean {
  return fieldOf(fields, name) !== null
}
