import type { IncomingMessage } from 'node:http'
import type { Client } from './client.ts'
import { checkedTags } from '../../core/entry/tags.ts'
import type { Head } from '../answer/capture.ts'
import type { SeenFields } from '../watch/watched-fields.ts'
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
import { beforeName } from '../watch/selection.ts'
import type { Old, StoredHead, StoredResponse } from '../stored/stored-response.ts'

/** What becomes of the answer of a handler, known when its head is. */
export type Decision =
  /** It is stored, when it is complete; `names`: all request fields that it is selected by. */
  | {
      readonly to: 'store'
      readonly head: StoredHead
      readonly names: readonly string[]
      readonly tags: readonly string[]
    }
  /** It says that what is stored is still right: this, for so long again; `tags`: `null` where it may not be stored any more. */
  | { readonly to: 'store again'; readonly stored: StoredResponse; readonly tags: readonly string[] | null }
  /** An error: for its own client, and for whoever waits for it by now. */
  | { readonly to: 'share'; readonly head: StoredHead; readonly names: readonly string[] }
  /** An error in whose place what is stored is served. */
  | { readonly to: 'drop'; readonly status: number }
  /** For its own client alone. */
  | { readonly to: 'pass'; readonly why: string; readonly names: readonly string[] }

/** By these a handler decides who may come in: it would be asked once, and never again. */
const credentials: ReadonlySet<string> = new Set(
  'authorization proxy-authorization x-api-key api-key x-auth-token x-access-token'.split(' '),
)

/** Decides what becomes of the answer to one request. */
export class Decider {
  readonly #client: Client
  readonly #request: IncomingMessage
  readonly #plan: ResponsePlan
  readonly #defaultTtl: number
  readonly #isApart: boolean

  /** @param about.isApart whether what stood before the cache is to be part of the key */
  constructor(client: Client, plan: ResponsePlan, about: { readonly defaultTtl: number; readonly isApart: boolean }) {
    this.#client = client
    this.#request = client.request
    this.#plan = plan
    this.#defaultTtl = about.defaultTtl
    this.#isApart = about.isApart
  }

  /**
   * @param head without what stands before the cache
   * @param old what the handler was asked about
   * @param seen which request fields it has read
   */
  decide({ status, message, lines: inner }: Head, old: Old | null, seen: SeenFields): Decision {
    const fields = fieldsOf(inner)
    const response = responseOf(status, fields)
    const now = Date.now()
    if (old !== null && status === 304) return this.#again(old, inner, now)
    if (old !== null && isServerError(status) && this.#isUsableOnError(old)) return { to: 'drop', status }
    const names = this.#names(fields, seen)
    const rules = this.#rules()
    const verdict = storable(this.#answered, response, rules, now)
    const why = verdict.store ? this.#refused(fields) : verdict.why
    const head: StoredHead = {
      status,
      statusMessage: message,
      lines: dated(storedFields(inner, { setCookie: 'drop' }), now),
      ...this.#said(response, now),
      vary: names === '*' ? [] : names,
      before: this.#client.selection.before,
      selected: names === '*' ? '' : this.#client.selection.by(names),
    }
    if (names === '*') {
      return { to: 'pass', why: why ?? undeclaredText(undeclaredOf(fields, seen)), names: this.#apart(seen) }
    }
    if (why === null) return { to: 'store', head, names, tags: this.#tags(fields) ?? [] }
    const isHarmless = why === 'status' || why === 'no-freshness' || why === 'no-validator'
    if (status >= 500 && isHarmless && !('set-cookie' in fields)) return { to: 'share', head, names }
    return { to: 'pass', why, names }
  }

  /** All request fields that select the response by what is known before its head; `'*'` if that cannot be told. */
  namesSoFar(seen: SeenFields): readonly string[] | '*' {
    return this.#names({}, seen)
  }

  /** By what others may be told apart from a request whose answer nobody may be given: there may be one for them. */
  #apart(seen: SeenFields): readonly string[] {
    const { selection } = this.#client
    // Before their cache nothing of the kind may have stood.
    const before = selection.before === '' ? [] : [beforeName]
    if (seen === 'all' || this.#plan.undeclared(this.#request) !== 'key') return before
    const read = [...seen].filter((name) => selection.isKeyable(name) && !credentials.has(name))
    return [...new Set([...before, ...read])].sort()
  }

  /** The handler, asked whether what is stored is still right, says so. */
  #again({ stored }: Old, inner: readonly FieldLine[], now: number): Decision {
    // One that speaks of another ETag says so all the same; but what it says beside that is not of what is stored.
    const update = isAbout(fieldsOf(stored.lines), fieldsOf(inner)) ? inner : []
    const lines = freshen(stored.lines, dated(update, now), { setCookie: 'drop' })
    const fields = fieldsOf(lines)
    const response = responseOf(stored.status, fields)
    const again = { ...stored, ...this.#said(response, now), lines }
    const { store } = storable(this.#answered, response, this.#rules(), now)
    return { to: 'store again', stored: again, tags: store ? this.#tags(fields) : null }
  }

  /** The request as the handler answered it: middleware behind the cache may have changed the method. */
  get #answered(): Request {
    return { method: this.#request.method ?? '', fields: this.#client.selection.fields }
  }

  /** What a response says of its time. */
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

  /** Where the key tells whose it is, an answer to credentials need not say that it is for everybody. */
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

  /** All request fields that select this response; `'*'` if that cannot be told. */
  #names(fields: Fields, seen: SeenFields): readonly string[] | '*' {
    const declared = varyOf(fields)
    if (declared === '*' || seen === 'all') return '*'
    const undeclared = undeclaredOf(fields, seen)
    if (undeclared.length > 0 && this.#plan.undeclared(this.#request) === 'refuse') return '*'
    const more = this.#plan.vary(this.#request)
    const isRefused = (name: string): boolean => {
      return !this.#client.selection.isKeyable(name) || (credentials.has(name) && !more.includes(name))
    }
    if (undeclared.some(isRefused)) return '*'
    return [...new Set([...more, ...declared, ...undeclared, ...(this.#isApart ? [beforeName] : [])])].sort()
  }

  /** Why a response is not stored that may be. */
  #refused(fields: Fields): string | null {
    const length = Number(fieldOf(fields, 'content-length') ?? 0)
    if (length > this.#plan.maxBody(this.#request)) return 'too-large'
    if (fieldOf(fields, 'content-type')?.startsWith('text/event-stream') === true) return 'events'
    return this.#tags(fields) === null ? 'tags' : null
  }

  /** `null` where there are some that cannot be kept: then the response could not be invalidated by them. */
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
    const asked = { method: 'GET', fields: this.#client.selection.fields }
    return usableOnError(asked, { ...stored.rules, age, lifetime: stored.lifetime }, { honor, ifError: 0 })
  }
}

/** The request fields that were read though `Vary` does not name them; `*` for all. */
function undeclaredOf(fields: Fields, seen: SeenFields): readonly string[] {
  if (seen === 'all') return ['*']
  const declared = varyOf(fields)
  return [...seen].filter((name) => !declared.includes(name))
}

/** Names them, as a token of `Cache-Status`. A handler may have looked for what is no name. */
function undeclaredText(names: readonly string[]): string {
  const plain = names.map((name) => (name.startsWith(':') ? name.slice(1).replaceAll(/[^\w.#-]/g, '-') : name))
  const some = plain.filter((name) => /^[!#$%&'*+.^`|~\w-]+$/.test(name)).slice(0, 8)
  return `undeclared:${some.join('+')}`
}
