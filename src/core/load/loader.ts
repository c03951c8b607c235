import type { CausalTime } from './causal-order.ts'
import type { LoadNode } from './circular-load.ts'
import type { Clock } from '../time/clock.ts'
import { longestLife, longestTimer, parseDuration, formatValue, type Duration } from '../time/duration.ts'
import { CacheError, loadFailedError, quoted } from '../errors.ts'
import { ttlOf } from '../entry/freshness.ts'
import type { CallPlan, Plan } from '../options/plan.ts'
import type { Validators } from '../contract/store.ts'
import { checkedTags } from '../entry/tags.ts'

/** Gets the value from the source; may be synchronous. */
export type Loader<T> = (context: LoadContext) => T | Promise<T>

/** What a loader is told, and what it may say about its result. */
export interface LoadContext {
  /** The key that is loaded. */
  readonly key: string
  /**
   * Aborted when the result is of no use any more: with the reason LEASE_LOST (another load has the lease, or the key
   * was invalidated), LOAD_TIMEOUT or CLOSED, each a `CacheError`.
   */
  readonly signal: AbortSignal
  /** Grows with every lease of this key; `null` for a load that runs without a lease. */
  readonly fence: bigint | null
  /** The value that this load will replace, if there still is one, and its age in milliseconds. */
  readonly stale: Stale | null
  /** Says how long this value is fresh, instead of the option. Throws TypeError when it is not a duration. */
  readonly ttl: (ttl: Duration) => void
  /** Says how long after its ttl this value may be served stale, instead of the option. Throws TypeError likewise. */
  readonly grace: (grace: Duration) => void
  /** Gives this value tags, besides those of the option. Throws TypeError for what is no tag, or more than 64 in all. */
  readonly tags: (...tags: readonly string[]) => void
  /** Says what the source recognises this value by; the next load is shown it with the stale value. Throws TypeError. */
  readonly validators: (validators: Validators) => void
  /**
   * Says that the source has nothing newer than the stale value: it is kept for another ttl, with its validators.
   * @returns the stale value, for the loader to return
   * @throws TypeError when there is none
   */
  readonly notModified: <T>() => T
  /**
   * Says that this result is for this caller alone: it is not stored, and nobody queues for the key so long. Default: a second.
   * Throws TypeError when that is not a duration.
   */
  readonly doNotStore: (passFor?: Duration) => void
}

export interface Stale extends Validators {
  readonly value: unknown
  readonly age: number
}

/** What is known of a value that was loaded. */
export interface LoadedFacts {
  readonly ttl: number
  readonly grace: number
  readonly loadTime: number
  readonly tags: readonly string[]
  readonly validators: Validators | null
}

/** What came of a loader. */
export type LoadResult =
  | ({ readonly state: 'value'; readonly value: unknown } & LoadedFacts)
  | { readonly state: 'pass'; readonly value: unknown; readonly passFor: number }
  | { readonly state: 'failed'; readonly error: CacheError }

/** Or it was overtaken: who ran it lost the right to its outcome, which will still be known as `ended`. */
export type LoadRun =
  | LoadResult
  | { readonly state: 'lost'; readonly error: CacheError; readonly ended: Promise<LoadResult> }

/**
 * How long "do not store" is remembered, in milliseconds: long enough that a crowd passes, short enough that a key
 * which has become cacheable again is not left unprotected.
 */
const defaultPassFor = 1_000

/** A load that is to be run. */
interface RunnableLoad {
  readonly key: string
  readonly loader: Loader<unknown>
  readonly plan: Plan
  readonly clock: Clock
  readonly fence: bigint | null
  readonly stale: Stale | null
  /** Resolves when its result is of no use any more. */
  readonly lost: Promise<CacheError>
}

/** What a loader has said of its result. */
interface Said {
  ttl: number | null
  grace: number
  tags: readonly string[]
  validators: Validators | null
  passFor: number | null
}

/** The context that a loader is given, which takes down what the loader says of its result. */
function contextOf({ key, fence, stale }: RunnableLoad, said: Said, abort: LateAbort): LoadContext {
  return {
    key,
    get signal() {
      return abort.signal
    },
    fence,
    stale,
    ttl(given) {
      said.ttl = parseDuration('ttl', given, { most: longestLife })
    },
    grace(given) {
      said.grace = parseDuration('grace', given, { least: 0, most: longestLife })
    },
    tags(...given) {
      said.tags = checkedTags('tags', [...said.tags, ...given])
    },
    validators(given) {
      said.validators = checkedValidators(given)
    },
    notModified<T>() {
      if (stale === null)
        throw new TypeError(`Expected a stale value of ${quoted(key)} that was not modified: there is none`)
      said.validators ??= checkedValidators(validatorsOf(stale))
      return stale.value as T
    },
    doNotStore(given = defaultPassFor) {
      said.passFor = parseDuration('passFor', given, { most: longestTimer })
    },
  }
}

/** An AbortController that is made when its signal is asked for: it costs more than all the rest of a load. */
class LateAbort {
  #controller: AbortController | null = null
  #reason: CacheError | null = null

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#reason !== null) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  abort(reason: CacheError): void {
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}

/**
 * Runs a loader once, until it settles, its hard timeout is over, or `lost` resolves: whichever is first decides.
 * A loader that goes on after its timeout is heard no more, and its late rejection is ignored.
 */
export function runLoader(load: RunnableLoad): Promise<LoadRun> {
  const { key, loader, plan, clock } = load
  const { grace, tags } = plan
  const said: Said = { ttl: null, grace, tags, validators: null, passFor: null }
  const abort = new LateAbort()
  const context = contextOf(load, said, abort)
  const startedAt = clock.now()
  const ended = new Promise<LoadResult>((resolve) => {
    const timedOut = (): void => {
      const message = `Loading ${quoted(key)} took longer than ${plan.hardTimeout} ms`
      const error = new CacheError('LOAD_TIMEOUT', message, { key })
      resolve({ state: 'failed', error })
      abort.abort(error)
    }
    // The loader may go on after the cache has been closed; waiters have timers of their own.
    const timer = clock.after(plan.hardTimeout, timedOut, 'background')
    new Promise((settle) => settle(loader(context))).then(
      (value) => {
        timer.cancel()
        const { passFor, ttl, ...facts } = said
        if (passFor !== null) return resolve({ state: 'pass', value, passFor })
        const loadTime = clock.now() - startedAt
        resolve({ state: 'value', value, ttl: ttl ?? ttlOf(value, plan), loadTime, ...facts })
      },
      (thrown: unknown) => {
        timer.cancel()
        resolve({ state: 'failed', error: loadFailedError(key, thrown) })
      },
    )
  })
  const lost = load.lost.then((error): LoadRun => {
    abort.abort(error)
    return { state: 'lost', error, ended }
  })
  return Promise.race([ended, lost])
}

/** The value that a load brought; throws its error if it brought none. */
export function valueOf(loaded: LoadRun): unknown {
  if (loaded.state === 'failed' || loaded.state === 'lost') throw loaded.error
  return loaded.value
}

/** Throws TypeError unless it is a function. */
export function checkLoader(key: string, loader: unknown): void {
  if (typeof loader === 'function') return
  throw new TypeError(`Expected a loader function for ${quoted(key)}, got ${formatValue(loader)}`)
}

const longest = 1_000

/** Those among what is given; `null` if there is none. Throws TypeError for what is none. */
export function checkedValidators(given: Validators): Validators | null {
  if (given === null || typeof given !== 'object') {
    throw new TypeError(
      `Expected validators to be an object with \`etag\` or \`lastModified\`, got ${formatValue(given)}`,
    )
  }
  const { etag, lastModified } = given
  for (const [name, value] of Object.entries({ etag, lastModified })) {
    if (value === undefined || (typeof value === 'string' && value.length <= longest && value.isWellFormed())) continue
    throw new TypeError(
      `Expected \`${name}\` to be a well-formed string of up to ${longest} characters, got ${formatValue(value)}`,
    )
  }
  return etag === undefined && lastModified === undefined ? null : validatorsOf({ etag, lastModified })
}

/** Only those that are there. */
export function validatorsOf({ etag, lastModified }: { etag?: unknown; lastModified?: unknown }): Validators {
  return {
    ...(typeof etag === 'string' ? { etag } : {}),
    ...(typeof lastModified === 'string' ? { lastModified } : {}),
  }
}

/** A call of a caller: which key, how to load it, and when it was asked. */
export interface CallRequest {
  readonly key: string
  readonly loader: Loader<unknown>
  readonly plan: CallPlan
  /** Whether it is to be loaded even though there is a fresh value. */
  readonly refresh: boolean
  readonly askedAt: CausalTime
  /** By the clock, in milliseconds. */
  readonly askedAtMs: number
}

/** What starts a flight: the first caller, its loader and its plan. */
export interface LoadRequest {
  readonly key: string
  readonly loader: Loader<unknown>
  readonly plan: Plan
  readonly askedAt: CausalTime
  readonly parent: LoadNode | null
  /** What the caller has read: a value that is stale, or to be replaced before its time, or bytes that are no value of ours. */
  readonly read: { readonly token: string; readonly value: Stale | null; readonly fresh: boolean } | null
  /** Whether it flies on its own account, to refresh a value that callers have been served already. */
  readonly refresh: boolean
}
