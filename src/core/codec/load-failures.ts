import { membersOf, portableIn, portableOf, portableText, revivedError, type ErrorKnowledge } from './portable-error.ts'
import type { LeaseName } from '../contract/store.ts'
import { CacheError, isError, type CacheErrorCode, type Failure } from '../errors.ts'
import type { Clock } from '../time/clock.ts'

/** The failed load behind an error. */
export interface LoadFailure {
  readonly key: string
  /** The process whose loader ran; `null` if it is not known. */
  readonly process: string | null
  /** When the loader ended, in milliseconds since 1970 by the clock of that process; `null` if it is not known. */
  readonly at: number | null
  /** For how long callers are given the error without another load, in milliseconds. */
  readonly cooldown: number
}

/** Of each error that a caller was given. An error that several loads throw is known by the last of them. */
const known = new WeakMap<object, LoadFailure>()

/**
 * The failed load behind an error that a loader threw; `undefined` for any other error. The error itself has no mark
 * of the cache.
 */
export function loadFailure(error: unknown): LoadFailure | undefined {
  return typeof error === 'object' && error !== null ? known.get(error) : undefined
}

/**
 * The error for the callers of a load: what the loader threw, or the error of the cache itself. Inside of the cache, what
 * a loader threw is the cause of a LOAD_FAILED.
 */
export function errorForCallers(error: unknown): unknown {
  const isThrown = error instanceof CacheError && error.code === 'LOAD_FAILED' && isError(error.cause)
  return isThrown ? error.cause : error
}

/** The errors of the cache whose stacks lead to a caller. */
const led = new WeakSet<CacheError>()

/**
 * Throws an error to a caller. An error of the cache is made in a timer or at a reply, where no caller is on the stack:
 * here its stack becomes that of the first caller that is given it. What a loader threw stays as it is.
 */
export function throwToCaller(error: unknown): never {
  if (isError(error) && error instanceof CacheError && !led.has(error) && !known.has(error)) {
    led.add(error)
    Error.captureStackTrace(error, throwToCaller)
  }
  throw error
}

/** Rejects as `work` does, with an error for a caller. */
export function ledToCaller<T>(work: Promise<T>): Promise<T> {
  return work.then(undefined, throwToCaller)
}

const codes: readonly CacheErrorCode[] = [
  'LOAD_FAILED',
  'LOAD_TIMEOUT',
  'VALUE_TOO_LARGE',
  'VALUE_NOT_SERIALIZABLE',
  'VALUE_INVALID',
  'CIRCULAR_LOAD',
  'CLOSED',
]

/** The failure in bytes from a store; LOAD_FAILED for bytes of another form, which any client may have written. */
export function failureIn(bytes: Buffer): Failure {
  try {
    return failureOf(membersOf(JSON.parse(bytes.toString())))
  } catch {
    return failureOf({})
  }
}

/** The failure that an object describes; LOAD_FAILED for an object of another form. */
export function failureOf({ code, message, cause, token, process, at }: Record<string, unknown>): Failure {
  return {
    code: codes.includes(code as CacheErrorCode) ? (code as CacheErrorCode) : 'LOAD_FAILED',
    message: typeof message === 'string' ? message : 'The load failed, and its error cannot be read',
    cause: portableIn(cause),
    ...(typeof token === 'string' ? { token } : {}),
    ...(typeof process === 'string' ? { process } : {}),
    ...(typeof at === 'number' ? { at } : {}),
  }
}

/** The number of errors that a process keeps for its own callers. */
const most = 1_000

interface Own {
  readonly error: CacheError
  /** By the clock, in milliseconds. */
  readonly until: number
}

/** The failed loads of one cache: describes them for other processes, and gives its own callers the very errors. */
export class LoadFailures {
  readonly #knowledge: ErrorKnowledge
  readonly #process: string
  readonly #clock: Clock
  /** By token, in the order in which they came. */
  readonly #own = new Map<string, Own>()

  constructor(knowledge: ErrorKnowledge, process: string, clock: Clock) {
    this.#knowledge = knowledge
    this.#process = process
    this.#clock = clock
  }

  /**
   * Describes the error of a load for other processes.
   * @param cooldown for how long it is remembered, in milliseconds
   */
  describe(error: CacheError, { key, token }: LeaseName, cooldown: number): Failure {
    const { code, message, cause } = error
    const at = this.noteOwn(error, key, cooldown)
    this.#keep(token, { error, until: this.#clock.now() + cooldown })
    const portable = isError(cause) ? portableOf(cause, this.#knowledge) : null
    return { code, message: portableText(message), cause: portable, token, process: this.#process, at }
  }

  /** Notes the error of a load of this process; returns when that was, in milliseconds since 1970. */
  noteOwn(error: CacheError, key: string, cooldown = 0): number {
    const at = Date.now()
    note(error, { key, process: this.#process, at, cooldown })
    return at
  }

  /** The error of a load that failed here or in another process. */
  revive({ code, message, cause, token, process, at }: Failure, key: string, cooldown: number): CacheError {
    const own = token === undefined ? undefined : this.#own.get(token)
    if (own !== undefined) return own.error
    const about = cause === null ? { key } : { key, cause: revivedError(cause, this.#knowledge) }
    const error = new CacheError(code, portableText(message), about)
    note(error, { key, process: process ?? null, at: at ?? null, cooldown })
    return error
  }

  #keep(token: string, own: Own): void {
    const now = this.#clock.now()
    for (const [old, { until }] of this.#own) {
      if (until > now && this.#own.size < most) break
      this.#own.delete(old)
    }
    if (own.until > now) this.#own.set(token, own)
  }
}

function note(error: CacheError, failure: LoadFailure): void {
  const given = errorForCallers(error)
  if (given !== error) known.set(given as object, failure)
}
