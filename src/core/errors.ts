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
  | 'CIRCULAR_LOAD'
  | 'CLOSED'

/** The only error class of this library; `code` tells its instances apart, never the message or a subclass. */
export class CacheError extends Error {
  override readonly name: string = 'CacheError'
  /** The kind of error. */
  readonly code: CacheErrorCode
  /** The key that the error is about; `undefined` if it is not about one key. */
  readonly key: string | undefined

  constructor(code: CacheErrorCode, message: string, about: { key?: string | undefined; cause?: unknown } = {}) {
    super(message, 'cause' in about ? { cause: about.cause } : undefined)
    this.code = code
    this.key = about.key
  }
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
export function withKey(key: string, { code, message, cause }: CacheError): CacheError {
  return new CacheError(code, message, { key, cause })
}

/** The error of a load whose loader threw `cause`. */
export function loadFailedError(key: string, cause: unknown): CacheError {
  // A circular load is a bug of the caller: show the chain once instead of one wrapper per level.
  if (isError(cause) && cause instanceof CacheError && cause.code === 'CIRCULAR_LOAD') return cause
  return new CacheError('LOAD_FAILED', `Loading ${quoted(key)} failed: ${messageOf(cause)}`, { key, cause })
}

/**
 * The CacheError for an error of a store. Only name, message and code are kept: a client attaches the whole command to
 * its errors, including the value or the password.
 */
export function unavailableError(error: unknown): CacheError {
  if (error instanceof CacheError) return error
  const { name = 'Error', code } = (error ?? {}) as { name?: unknown; code?: unknown }
  const message = messageOf(error)
  const cause = Object.assign(new Error(message), { name }, code === undefined ? {} : { code })
  return new CacheError('STORE_UNAVAILABLE', `The store failed: ${message}`, { cause })
}

/** Whether a thrown value is an error. Never throws: a thrown proxy may. */
export function isError(thrown: unknown): thrown is Error {
  return attempt(() => thrown instanceof Error) ?? false
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
  const text = attempt(() => String(thrown instanceof Error ? thrown.message : thrown))
  return text ?? 'a value that cannot be shown was thrown'
}

/** Reports an error of a function of the user that has no caller, as a process warning. */
export function warnOfThrown(by: string, thrown: unknown): void {
  const what = messageOf(attempt(() => (thrown instanceof Error ? thrown.stack : undefined)) ?? thrown)
  process.emitWarning(`${by} threw: ${what}`, 'HerdlessWarning')
}

/** Ignores the rejection of work that has no waiting caller. The call site must know how a failure is made up for. */
export function ignoreRejection(work: Promise<unknown>): void {
  work.catch(() => undefined)
}
