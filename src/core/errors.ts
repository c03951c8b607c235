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

/** The part of an error that travels between processes: bounded, without stacks, values or credentials. */
export interface Failure {
  readonly code: CacheErrorCode
  readonly message: string
  readonly cause: { readonly name: string; readonly message: string; readonly code?: string | number } | null
}

const longestMessage = 1_000

/** The part of a load's error that other processes receive. */
export function toFailure(error: CacheError): Failure {
  const { code, message, cause } = error
  return { code, message: cut(message), cause: cause === undefined ? null : causeOf(cause) }
}

function causeOf(thrown: unknown): NonNullable<Failure['cause']> {
  const { name, code } = (thrown ?? {}) as { name?: unknown; code?: unknown }
  return {
    name: typeof name === 'string' ? cut(name) : 'Error',
    message: cut(messageOf(thrown)),
    ...(typeof code === 'string' ? { code: cut(code) } : typeof code === 'number' ? { code } : {}),
  }
}

/** The error for callers in other processes than the one whose load failed. */
export function fromFailure({ code, message, cause }: Failure, key: string): CacheError {
  return new CacheError(code, cut(message), cause ? { key, cause: rebuilt(cause) } : { key })
}

// Bound the strings again although the sender has bounded them: any client of the server can send a message.
function rebuilt(cause: NonNullable<Failure['cause']>): Error {
  const [name, message] = [cut(cause.name), cut(cause.message)]
  const code = typeof cause.code === 'string' ? cut(cause.code) : cause.code
  const error = new Error(message)
  // A stack from here would point into this library instead of at the failure.
  error.stack = `${name}: ${message}\n    at the loader, in another process`
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  if (code !== undefined) Object.assign(error, { code })
  return error
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
  if (cause instanceof CacheError && cause.code === 'CIRCULAR_LOAD') return cause
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

/** The message of any thrown value, from user code or a client. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown)
  } catch {
    return 'a value that cannot be shown was thrown'
  }
}

function cut(text: string): string {
  return text.length > longestMessage ? `${text.slice(0, longestMessage)}…` : text
}

/** Ignores the rejection of work that has no waiting caller. The call site must know how a failure is made up for. */
export function ignoreRejection(work: Promise<unknown>): void {
  work.catch(() => undefined)
}
