/**
 * Everything that can go wrong in life, by code. Misuse (a wrong argument) is a `TypeError` instead.
 * `docs/errors.md` has a row for each.
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

/** The one error class of this library; told apart by `code`, never by message or by `instanceof` of subclasses. */
export class CacheError extends Error {
  override readonly name: string = 'CacheError'
  /** What happened. */
  readonly code: CacheErrorCode
  /** The key it happened to; `undefined` where the error is not about one key. */
  readonly key: string | undefined

  constructor(code: CacheErrorCode, message: string, about: { key?: string | undefined; cause?: unknown } = {}) {
    super(message, 'cause' in about ? { cause: about.cause } : undefined)
    this.code = code
    this.key = about.key
  }
}

/** A key as it stands in a message: quoted, control characters escaped, cut after 100 characters. */
export function quoted(key: string): string {
  return JSON.stringify(key.length > 100 ? `${key.slice(0, 100)}…` : key)
}

/** What of an error travels between processes: bounded, and never a stack, a value or a credential of ours. */
export interface Failure {
  readonly code: CacheErrorCode
  readonly message: string
  readonly cause: { readonly name: string; readonly message: string; readonly code?: string | number } | null
}

const longestMessage = 1_000

/** The part of a load's error that other processes are told. */
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

/** The error that callers in other processes get for a load that failed. */
export function fromFailure({ code, message, cause }: Failure, key: string): CacheError {
  return new CacheError(code, cut(message), cause ? { key, cause: rebuilt(cause) } : { key })
}

// What was bounded by whoever sent it is bounded again: a stranger may have sent it.
function rebuilt(cause: NonNullable<Failure['cause']>): Error {
  const [name, message] = [cut(cause.name), cut(cause.message)]
  const code = typeof cause.code === 'string' ? cut(cause.code) : cause.code
  const error = new Error(message)
  // Its stack would point into this library, at a place that has nothing to do with the failure.
  error.stack = `${name}: ${message}\n    at the loader, in another process`
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  if (code !== undefined) Object.assign(error, { code })
  return error
}

/** The error of whatever is asked of a cache that has been closed, or was under way when it was. */
export function closedError(key?: string): CacheError {
  return new CacheError('CLOSED', 'The cache is closed', { key })
}

/** The same of a lock. */
export function lockClosedError(name?: string): CacheError {
  return new CacheError('CLOSED', 'The lock is closed', { key: name })
}

/** The same error, about this key. */
export function withKey(key: string, { code, message, cause }: CacheError): CacheError {
  return new CacheError(code, message, { key, cause })
}

/** The error of a load whose loader threw `cause`. */
export function loadFailedError(key: string, cause: unknown): CacheError {
  // A circle is the caller's own doing: every level of it shows the chain, not a pile of wrappers.
  if (cause instanceof CacheError && cause.code === 'CIRCULAR_LOAD') return cause
  return new CacheError('LOAD_FAILED', `Loading ${quoted(key)} failed: ${messageOf(cause)}`, { key, cause })
}

/**
 * What a store's own error becomes. Only name, message and code are kept: a client hangs the whole command on its
 * errors, with the value or the password in it.
 */
export function unavailableError(error: unknown): CacheError {
  if (error instanceof CacheError) return error
  const { name = 'Error', code } = (error ?? {}) as { name?: unknown; code?: unknown }
  const message = messageOf(error)
  const cause = Object.assign(new Error(message), { name }, code === undefined ? {} : { code })
  return new CacheError('STORE_UNAVAILABLE', `The store failed: ${message}`, { cause })
}

/** What a thrown thing says, whatever it is: it comes from the user's code, or from a client. */
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

/** For what nobody waits for: where it fails, something else makes up for it, and whoever calls this knows what. */
export function ignoreRejection(work: Promise<unknown>): void {
  work.catch(() => undefined)
}
