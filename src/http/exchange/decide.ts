import type { IncomingMessage } from 'node:http'
import type { Client } from './client.ts'
import { checkedTags } from '../../core/entry/tags.ts'
import type { Head } from './redirect.ts'
import { asyncName } from '../inputs/async-stores.ts'
import { allFields, type SeenFields } from '../inputs/watched-fields.ts'
import { initialAgeOf } from '../policy/age.ts'
import { fieldOf, fieldsOf, membersOf, type FieldLine, type Fields } from '../policy/fields.ts'
import { freshen, isAbout } from '../policy/freshen.ts'
import { lifetimeOf } from '../policy/lifetime.ts'
import { responseOf, type Request, type Response } from '../policy/message.ts'
import { isServerError, usableOnError } from '../policy/reuse.ts'
import { staleRules } from '../policy/stale.ts'
import { storable, type StoreRules } from '../policy/storable.ts'
import { dated, storedFields } from '../policy/stored-fields.ts'
import { varyOf } from '../policy/vary.ts'
import type { ResponsePlan } from '../options/response-options.ts'
import { givenName } from '../inputs/inputs.ts'
import type { Old, StoredHead, StoredResponse } from '../stored/stored-response.ts'

/** The treatment of a handler's answer, decided when its head is complete. `names`: the inputs that select the answer. */
export type Decision =
  /** Stored once it is complete. */
  | {
      readonly to: 'store'
      readonly head: StoredHead
      readonly names: readonly string[]
      readonly tags: readonly string[]
    }
  /** A 304: the stored response holds for another lifetime. `tags`: `null` if it must not be stored any longer. */
  | {
      readonly to: 'store again'
      readonly stored: StoredResponse
      readonly names: readonly string[]
      readonly tags: readonly string[] | null
      /** The cookies that the 304 sets, for its own client alone. */
      readonly cookies: readonly FieldLine[]
    }
  /** A server error: for its own client and the requests that wait by now, not for later ones. */
  | { readonly to: 'share'; readonly head: StoredHead; readonly names: readonly string[] }
  /** A server error that is replaced by the stored response. */
  | { readonly to: 'drop'; readonly status: number; readonly names: readonly [] }
  /** For its own client alone. */
  | { readonly to: 'pass'; readonly why: string; readonly names: readonly string[] }

/** Credentials. A handler that reads one decides about access, and must be asked on every request. */
export const credentials: ReadonlySet<string> = new Set(
  'authorization proxy-authorization x-api-key api-key x-auth-token x-access-token'.split(' '),
)

/** Decides about the answer to one request. */
export class Decider {
  readonly #client: Client
  readonly #request: IncomingMessage
  readonly #plan: ResponsePlan
  readonly #defaultTtl: number
  readonly #isApart: boolean

  /**
   * @param about.isApart whether what the request is given becomes part of the key
   */
  constructor(client: Client, plan: ResponsePlan, about: { readonly defaultTtl: number; readonly isApart: boolean }) {
    this.#client = client
    this.#request = client.request
    this.#plan = plan
    this.#defaultTtl = about.defaultTtl
    this.#isApart = about.isApart
  }

  /**
   * Decides about an answer by its head.
   * @param head without the lines that earlier middleware has set
   * @param old the stored response that the handler was asked to validate
   * @param seen the inputs that the handler has read
   */
  decide(
    { status, message, lines: inner, removed }: Head & Pick<StoredHead, 'removed'>,
    old: Old | null,
    seen: SeenFields,
  ): Decision {
    const fields = fieldsOf(inner)
    const response = responseOf(status, fields)
    if (old !== null && status === 304) return this.#again(old, inner, seen)
    if (old !== null && isServerError(status) && this.#isUsableOnError(old)) return { to: 'drop', status, names: [] }
    const now = Date.now()
    const names = this.#names(fields, seen)
    const rules = this.#rules()
    const verdict = storable(this.#answered, response, rules, now)
    const why = verdict.store ? this.#refused(fields) : verdict.why
    const head: StoredHead = {
      status,
      statusMessage: message,
      lines: dated(storedFields(inner), now),
      ...(removed === undefined ? {} : { removed }),
      ...this.#said(response, now),
      vary: names === '*' ? [] : names,
      given: this.#client.inputs.given,
      selected: names === '*' ? '' : this.#client.inputs.by(names),
    }
    if (names === '*') {
      return { to: 'pass', why: why ?? undeclaredText(undeclaredOf(fields, seen)), names: this.#apart(seen) }
    }
    if (why === null) return { to: 'store', head, names, tags: this.#tags(fields) ?? [] }
    const isHarmless = why === 'status' || why === 'no-freshness' || why === 'no-validator'
    if (status >= 500 && isHarmless && !('set-cookie' in fields)) return { to: 'share', head, names }
    return { to: 'pass', why, names }
  }

  /**
   * Whether `send`, which is behind `sendFile`, has said how long an answer is fresh, because it was not told, so that
   * the `ttl` of the options does not hold for it.
   */
  isUntold({ lines }: Head): boolean {
    const fields = fieldsOf(lines)
    if (fieldOf(fields, 'cache-control') !== 'public, max-age=0' || !('accept-ranges' in fields)) return false
    return (this.#plan.ttl(this.#request) ?? 0) !== 0
  }

  /** The inputs that select the response as far as known before its head; `'*'` if they cannot be part of a key. */
  namesSoFar(seen: SeenFields): readonly string[] | '*' {
    return this.#names({}, seen)
  }

  /**
   * The inputs that may tell other requests apart from one whose answer is private, so that their answers can be
   * stored.
   */
  #apart(seen: SeenFields): readonly string[] {
    const { inputs } = this.#client
    // An answer that can be shared may exist for requests that are given nothing.
    const given = inputs.isUsual ? [] : [givenName]
    if (this.#plan.undeclared(this.#request) !== 'key') return given
    const read = [...seen].filter((name) => inputs.isKeyable(name) && !credentials.has(name))
    return [...new Set([...given, ...read])].sort()
  }

  /** The treatment of a 304. */
  #again({ stored }: Old, inner: readonly FieldLine[], seen: SeenFields): Decision {
    const now = Date.now()
    // A 304 with another ETag confirms the stored response, too, but its lines describe another one.
    const update = isAbout(fieldsOf(stored.lines), fieldsOf(inner)) ? inner : []
    const lines = freshen(stored.lines, dated(update, now))
    const fields = fieldsOf(lines)
    const response = responseOf(stored.status, fields)
    const read = this.#names(fields, seen)
    // A handler may say that nothing has changed before it reads all that has made the response.
    const names = read === '*' ? stored.vary : [...new Set([...stored.vary, ...read])].sort()
    const selected = this.#client.inputs.by(names)
    const again = { ...stored, ...this.#said(response, now), lines, vary: names, selected }
    const { store } = storable(this.#answered, response, this.#rules(), now)
    const cookies = inner.filter(([name]) => name.toLowerCase() === 'set-cookie')
    const tags = store && read !== '*' ? this.#tags(fields) : null
    return { to: 'store again', stored: again, names, tags, cookies }
  }

  /** The request as the handler saw it: middleware behind the cache may have changed the method. */
  get #answered(): Request {
    return { method: this.#request.method ?? '', fields: this.#client.inputs.fields }
  }

  /** The times of a response: its age, its lifetime and its permissions to be served stale. */
  #said(response: Response, now: number): Pick<StoredHead, 'receivedAt' | 'initialAge' | 'lifetime' | 'rules'> {
    const rules = staleRules(response)
    const grace = rules.mustRevalidate ? 0 : this.#plan.grace(this.#request)
    const ifError = rules.mustRevalidate ? 0 : (rules.ifError ?? this.#plan.staleIfError(this.#request))
    return {
      receivedAt: now,
      initialAge: initialAgeOf(response, { requestedAt: now, receivedAt: now }),
      lifetime: lifetimeOf(response, this.#rules(), now).ms,
      rules: { ...rules, whileRevalidate: Math.max(rules.whileRevalidate, grace), ifError },
    }
  }

  /**
   * If the key names the owner of the answer, a response to a request with credentials need not be explicitly shared.
   */
  get #authorization(): StoreRules['authorization'] {
    if (this.#plan.authorization(this.#request) === 'pass') return 'never'
    return this.#client.user === null ? 'explicit' : 'always'
  }

  #rules(): StoreRules {
    const plan = this.#plan
    const request = this.#request
    const ttl = plan.ttl(request) ?? this.#defaultTtl
    return {
      statuses: plan.statuses(request),
      defaultTtl: ttl === 'heuristic' ? null : ttl,
      authorization: this.#authorization,
      cookie: plan.cookies(request) === 'pass' ? 'never' : 'always',
      setCookie: 'never',
      honor: plan.honorRequestDirectives(request),
    }
  }

  /** The inputs that select the response; `'*'` if they cannot be part of a key. */
  #names(fields: Fields, seen: SeenFields): readonly string[] | '*' {
    const declared = varyOf(fields)
    if (declared === '*' || seen.has(allFields)) return '*'
    const undeclared = undeclaredOf(fields, seen)
    if (undeclared.length > 0 && this.#plan.undeclared(this.#request) === 'refuse') return '*'
    const more = this.#plan.vary(this.#request)
    const isRefused = (name: string): boolean => {
      return !this.#client.inputs.isKeyable(name) || (credentials.has(name) && !more.includes(name))
    }
    if (undeclared.some(isRefused)) return '*'
    return [...new Set([...more, ...declared, ...undeclared, ...(this.#isApart ? [givenName] : [])])].sort()
  }

  /** The reason why this cache refuses a response that RFC 9111 allows; `null` for none. */
  #refused(fields: Fields): string | null {
    const length = Number(fieldOf(fields, 'content-length') ?? 0)
    if (length > this.#plan.maxBody(this.#request)) return 'too-large'
    if (fieldOf(fields, 'content-type')?.startsWith('text/event-stream') === true) return 'events'
    return this.#tags(fields) === null ? 'tags' : null
  }

  /**
   * The tags of a response; `null` if one is invalid or there are too many, because the response could not be
   * invalidated by it.
   */
  #tags(fields: Fields): readonly string[] | null {
    const said = [
      ...membersOf(fieldOf(fields, 'cache-tag') ?? ''),
      ...(fieldOf(fields, 'surrogate-key') ?? '').split(/[ ,]+/).filter((tag) => tag !== ''),
    ]
    try {
      return checkedTags('tags', [...new Set([...this.#plan.tags(this.#request), ...said])])
    } catch {
      return null
    }
  }

  #isUsableOnError({ stored, age }: Old): boolean {
    const honor = this.#plan.honorRequestDirectives(this.#request)
    const asked = { method: 'GET', fields: this.#client.inputs.fields }
    return usableOnError(asked, { ...stored.rules, age, lifetime: stored.lifetime }, { honor, ifError: 0 })
  }
}

/** The inputs that were read and are not named by `Vary`. */
function undeclaredOf(fields: Fields, seen: SeenFields): readonly string[] {
  const declared = varyOf(fields)
  return [...seen].filter((name) => !declared.includes(name))
}

/** The name of an input as `Cache-Status` has it. */
export function shownName(name: string): string {
  if (name.startsWith(`:${asyncName}#`)) return asyncName
  return name.startsWith(':') ? name.slice(1).replaceAll(/[^\w.#-]/g, '-') : name
}

/** Formats names of inputs as a token of `Cache-Status`. A handler may have looked up a name that is no token. */
function undeclaredText(names: readonly string[]): string {
  if (names.includes(allFields)) return `undeclared:${allFields}`
  const some = names.map(shownName).filter((name) => /^[!#$%&'*+.^`|~\w-]+$/.test(name))
  return `undeclared:${some.slice(0, 8).join('+')}`
}
