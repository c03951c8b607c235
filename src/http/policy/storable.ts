import { allows, directivesOf, secondsOf, type Directives } from './directives.ts'
import { fieldOf, type Fields } from './fields.ts'
import { lifetimeOf, type LifetimeRules } from './lifetime.ts'
import { staleRules } from './stale.ts'
import type { Request, Response } from './message.ts'
import { varyOf } from './vary.ts'

/** The reason why a response is not stored; short enough for the `detail` of Cache-Status. */
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
 * Whether a response that may be personal is stored: never, only if it is explicitly shared (`'explicit'`), or always.
 * The rule of the standard is `'explicit'` for Authorization and `'always'` for the others.
 */
export type PersonalRule = 'never' | 'explicit' | 'always'

/** The restrictions of this cache, within the limits of the standard. */
export interface StoreRules extends LifetimeRules {
  /** Responses to requests with Authorization. */
  readonly authorization: PersonalRule
  /** Responses to requests with Cookie. */
  readonly cookie: PersonalRule
  /** Responses with Set-Cookie. */
  readonly setCookie: PersonalRule
  /** Whether no-store in a request is heeded. */
  readonly honor: boolean
}

/**
 * Decides whether a shared cache stores a response (RFC 9111 section 3). A response that is never fresh, must not be
 * served stale and has no validator is not stored: it would never be of use.
 * @param receivedAt when the head arrived, in milliseconds since the epoch
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

/** RFC 9111 section 3: of all methods only GET is stored here. Section 5.2.1.5: no-store in a request. */
function refusedByRequest({ method, fields }: Request, { honor }: StoreRules): Why | null {
  if (method !== 'GET') return 'method'
  return honor && directivesOf(fieldOf(fields, 'cache-control')).has('no-store') ? 'request-no-store' : null
}

// Statuses that answer the conditions or the range of a single request: a request without them needs a different
// answer.
const ofOneRequest: ReadonlySet<number> = new Set([304, 412, 416])

/** RFC 9111 section 3: the status must be final. Section 3.3: partial content is not stored. */
function refusedByStatus({ status }: Response, { statuses }: StoreRules): Why | null {
  if (status === 206) return 'partial'
  const isFinal = status >= 200 && status <= 599
  return !isFinal || ofOneRequest.has(status) || statuses(status) === 'never' ? 'status' : null
}

// Statuses whose caching rules (RFC 9110 section 15) this cache implements.
const understood: ReadonlySet<number> = new Set([
  200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 500, 501, 502, 503, 504,
])

function refusedByControl({ status, fields, control: { directives } }: Response): Why | null {
  // RFC 9111 section 5.2.2.3: a cache that understands the status heeds must-understand and ignores the no-store beside
  // it.
  const mustUnderstand = directives.has('must-understand')
  if (mustUnderstand && !understood.has(status)) return 'status'
  if (directives.has('no-store') && !allows(directives, 'must-understand')) return 'no-store'
  // RFC 9111 section 5.2.2.7: a cache may treat the qualified form of private, with field names, as the unqualified
  // form.
  if (directives.has('private')) return 'private'
  // RFC 9111 section 4.1: a stored response with `Vary: *` never matches a request.
  return varyOf(fields) === '*' ? 'vary' : null
}

function refusedAsPersonal(request: Request, response: Response, rules: StoreRules): Why | null {
  const { directives } = response.control
  const shared = isShared(directives)
  // RFC 9111 section 3.5: public, s-maxage and must-revalidate each allow a shared response to a request with
  // credentials.
  const sharedThough = shared || allows(directives, 'must-revalidate')
  if (refuses(rules.authorization, sharedThough) && has(request.fields, 'authorization')) return 'authorization'
  if (refuses(rules.cookie, shared) && has(request.fields, 'cookie')) return 'cookie'
  // RFC 9111 section 7.3: a client that receives a stored cookie is taken for its owner.
  return refuses(rules.setCookie, shared) && has(response.fields, 'set-cookie') ? 'set-cookie' : null
}

/** Whether a response is explicitly shared: by public, or by s-maxage, which only shared caches heed. */
function isShared(directives: Directives): boolean {
  return allows(directives, 'public') || typeof secondsOf(directives, 's-maxage') === 'number'
}

function refuses(rule: PersonalRule, isExplicit: boolean): boolean {
  return rule === 'never' || (rule === 'explicit' && !isExplicit)
}

/**
 * RFC 9111 section 3, last condition: the response has an explicit lifetime or needs none. It must also be of use here.
 */
function refusedAsUseless(response: Response, rules: StoreRules, receivedAt: number): Why | null {
  const { noCache, whileRevalidate, ifError } = staleRules(response)
  const isValidated = hasValidator(response.fields)
  if (noCache && !isValidated) return 'no-validator'
  const { ms, from } = lifetimeOf(response, rules, receivedAt)
  const isSaid = from !== 'none'
  const isAllowed =
    isSaid || rules.statuses(response.status) === 'always' || allows(response.control.directives, 'public')
  // A validation on every request pays off only if the response asks for it. Without a directive, requests must not
  // queue for the handler.
  const isOfUse = ms > 0 || whileRevalidate > 0 || (ifError ?? 0) > 0 || (isValidated && (isSaid || noCache))
  return isAllowed && isOfUse ? null : 'no-freshness'
}

/** Whether a response has a validator (RFC 9110 section 8.8). */
export function hasValidator(fields: Fields): boolean {
  return Boolean(fieldOf(fields, 'etag')) || Boolean(fieldOf(fields, 'last-modified'))
}

function has(fields: Fields, name: string): boolean {
  return fieldOf(fields, name) !== null
}
