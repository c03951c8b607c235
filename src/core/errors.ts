import { types } from 'node:util'

/**
 * The operational errors, by code. Misuse (a wrong argument) is a `TypeError` instead. `docs/errors.md` has a row for
 * each code.
 */
export type CacheErrorCode =
  | 'LOAD_FAILED'
  | 'LOAD_TIMEOUT'
  | 'WAIT_TIMEOUT'
  | 'LEASE_LOST'
  | 'LOCK_TIMEOUT'
  | 'STORE_UNAVAILABLE'
  | 'OVERLOADED'
  | 'VALUE_TOO_LARGE'
  | 'VALUE_NOT_SERIALIZABLE'
  | 'VALUE_INVALID'
  | 'CIRCULAR_LOAD'
  | 'CLOSED'

/** Why a store or a lock server does not carry out a command; `docs/errors.md` has a row for each reason. */
export type UnavailableReason =
  | 'refused'
  | 'unreachable'
  | 'closed'
  | 'tls'
  | 'certificate'
  | 'password'
  | 'rights'
  | 'readOnly'
  | 'loading'
  | 'full'
  | 'unsaved'
  | 'replicas'
  | 'clusterDown'
  | 'busy'
  | 'timeout'
  | 'other'

/** The mark of its instances, the same in every copy of this library. */
const mark = Symbol.for('herdless.CacheError')

/** The only error class of this library; `code` tells its instances apart, never the message or a subclass. */
export class CacheError extends Error {
  override readonly name: string = 'CacheError'
  /** The kind of error. */
  readonly code: CacheErrorCode
  /** The key that the error is about; `undefined` if it is not about one key. */
  readonly key: string | undefined
  /** Why the store is unavailable; only with STORE_UNAVAILABLE. */
  declare readonly reason?: UnavailableReason
  /** After how long it may be worth to ask again, in milliseconds; only with OVERLOADED. */
  declare readonly retryAfter?: number

  static {
    Object.defineProperty(this.prototype, mark, { value: true })
    // A process may have a copy of this class in each module system, whose errors are instances of both. Defined here,
    // because TypeScript would narrow to this class what is an instance of a subclass.
    Object.defineProperty(this, Symbol.hasInstance, { value: hasInstance })
  }

  constructor(code: CacheErrorCode, message: string, about: AboutError = {}) {
    super(message, 'cause' in about ? { cause: about.cause } : undefined)
    this.code = code
    this.key = about.key
    if (about.reason !== undefined) this.reason = about.reason
    if (about.retryAfter !== undefined) this.retryAfter = about.retryAfter
  }
}

/** Whether an error has the mark; of a subclass, whether it is the one whose instance it is. */
function hasInstance(this: unknown, error: unknown): boolean {
  if (this !== CacheError) return Function.prototype[Symbol.hasInstance].call(this, error)
  return attempt(() => (error as { [mark]?: unknown } | null | undefined)?.[mark] === true) ?? false
}

interface AboutError {
  readonly key?: string | undefined
  readonly cause?: unknown
  readonly reason?: UnavailableReason | undefined
  readonly retryAfter?: number | undefined
}

/** A key for a message: quoted, control characters escaped, cut after 100 characters. */
export function quoted(key: string): string {
  return JSON.stringify(key.length > 100 ? `${key.slice(0, 100)}…` : key)
}

/** An error for other processes: bounded, without stacks, and without properties that look like secrets. */
export interface PortableError {
  readonly name: string
  readonly message: string
  /** The name of its class, if the option `errors` has the class. */
  readonly type?: string
  /** Its parts as the functions of its class gave them; it then has no `properties`. */
  readonly parts?: unknown
  readonly code?: string | number
  /** Its own properties that JSON can hold, such as `status`. */
  readonly properties?: Readonly<Record<string, unknown>>
  readonly cause?: PortableError | null
}

/** The end of a load without a value, for other processes. */
export interface Failure {
  /** LOAD_FAILED: the loader threw `cause`, or what is no Error. Any other code: an error of the cache itself. */
  readonly code: CacheErrorCode
  readonly message: string
  readonly cause: PortableError | null
  /** The token of the lease under which the loader ran; absent if an older version wrote the failure. */
  readonly token?: string
  /** The process whose loader ran. */
  readonly process?: string
  /** When the loader ended, in milliseconds since 1970 by the clock of that process. */
  readonly at?: number
}

/** The error for a call to a closed cache, and for a call that was under way when the cache closed. */
export function closedError(key?: string): CacheError {
  return new CacheError('CLOSED', 'The cache is closed', { key })
}

/** The error for a call to a closed lock. */
export function lockClosedError(name?: string): CacheError {
  return new CacheError('CLOSED', 'The lock is closed', { key: name })
}

/** The same error with a key. */
export function withKey(key: string, { code, message, cause, reason }: CacheError): CacheError {
  return new CacheError(code, message, { key, cause, reason })
}

/** The error of a load whose loader threw `cause`. */
export function loadFailedError(key: string, cause: unknown): CacheError {
  // A circular load is a bug of the caller: show the chain once instead of one wrapper per level.
  if (isError(cause) && cause instanceof CacheError && cause.code === 'CIRCULAR_LOAD') return cause
  return new CacheError('LOAD_FAILED', `Loading ${quoted(key)} failed: ${messageOf(cause)}`, { key, cause })
}

/** The reasons in sentences, each about the store. */
const sentences: Record<UnavailableReason, string> = {
  refused: 'The store refuses connections',
  unreachable: 'The store cannot be reached',
  closed: 'The store has no open connection',
  tls: 'The store does not agree on TLS',
  certificate: 'The store has a certificate that is not accepted',
  password: 'The store refuses the user or the password',
  rights: 'The store forbids a command',
  readOnly: 'The store is read-only',
  loading: 'The store is loading its data',
  full: 'The store is full',
  unsaved: 'The store cannot save its data',
  replicas: 'The store has too few replicas',
  clusterDown: 'The store is a cluster that is down',
  busy: 'The store is busy with a script',
  timeout: 'The store did not answer in time',
  other: 'The store failed',
}

/** The reason why a command of a store failed, and the error that shows it. */
export interface Diagnosis {
  readonly reason: UnavailableReason
  readonly cause: unknown
}

/** The CacheError for an error of a store. */
export function unavailableError(error: unknown, found: Diagnosis | null = null): CacheError {
  if (error instanceof CacheError) return error
  const { reason, cause } = found ?? { reason: 'other', cause: error }
  const bare = bareError(cause)
  return new CacheError('STORE_UNAVAILABLE', `${sentences[reason]}: ${bare.message}`, { cause: bare, reason })
}

/**
 * The CacheError for a command that a store did not answer.
 * @param waited how long it was waited for, in milliseconds
 */
export function unansweredError(waited: number, found: Diagnosis | null = null): CacheError {
  const silence = `did not answer within ${waited} ms`
  if (found === null) return new CacheError('STORE_UNAVAILABLE', `The store ${silence}`, { reason: 'timeout' })
  const { reason } = found
  const cause = bareError(found.cause)
  const message = `${sentences[reason]}, and ${silence}: ${cause.message}`
  return new CacheError('STORE_UNAVAILABLE', message, { cause, reason })
}

/**
 * A copy of an error of a client with name, message and code only: a client attaches the whole command to its errors,
 * including the value or the password.
 */
function bareError(error: unknown): Error {
  const { name = 'Error', code, errors } = (error ?? {}) as { name?: unknown; code?: unknown; errors?: unknown }
  // An attempt to connect to several addresses has an error for each, and no message of its own.
  const message = messageOf(error) || (Array.isArray(errors) ? messageOf(errors[0]) : String(code ?? name))
  return Object.assign(new Error(message), { name }, code === undefined ? {} : { code })
}

/**
 * Whether a thrown value is an error, also of another realm: under Jest, `fetch` throws such. Never throws: a thrown proxy
 * may.
 */
export function isError(thrown: unknown): thrown is Error {
  return attempt(() => thrown instanceof Error || types.isNativeError(thrown)) ?? false
}

/** The result of work that may run code of a user's object; `undefined` if it throws. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** The message of any thrown value, from user code or a client. Never throws. */
export function messageOf(thrown: unknown): string {
  const text = attempt(() => String(isError(thrown) ? thrown.message : thrown))
  return text ?? 'a value that cannot be shown was thrown'
}

/** Reports an error of a function of the user that has no caller, as a process warning. */
export function warnOfThrown(by: string, thrown: unknown): void {
  const what = messageOf(attempt(() => (thrown instanceof Error ? thrown.stack : undefined)) ?? thrown)
  process.emitWarning(`${by} threw: ${what}`, { type: 'HerdlessWarning', code: 'HERDLESS_THROWN' })
}

/** Ignores the rejection of work that has no waiting caller. The call site must know how a failure is made up for. */
export function ignoreRejection(work: Promise<unknown>): void {
  work.catch(() => undefined)
}
