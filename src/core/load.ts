import type { Clock } from './clock.ts'
import { longestLife, longestTimer, milliseconds, shown, type Duration } from './duration.ts'
import { CacheError, loadFailed, quoted } from './errors.ts'
import { ttlOf } from './freshness.ts'
import type { Plan } from './plan.ts'
import type { Validators } from './store.ts'
import { checkedTags } from './tags.ts'
import { checkedValidators, validatorsOf } from './validators.ts'

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
export interface About {
  readonly ttl: number
  readonly grace: number
  readonly loadTime: number
  readonly tags: readonly string[]
  readonly validators: Validators | null
}

/** What came of a loader. */
export type Ended =
  | ({ readonly state: 'value'; readonly value: unknown } & About)
  | { readonly state: 'pass'; readonly value: unknown; readonly passFor: number }
  | { readonly state: 'failed'; readonly error: CacheError }

/** Or it was overtaken: who ran it lost the right to its outcome, which will still be known as `ended`. */
export type Loaded = Ended | { readonly state: 'lost'; readonly error: CacheError; readonly ended: Promise<Ended> }

/**
 * How long "do not store" is remembered, in milliseconds: long enough that a crowd passes, short enough that a key
 * which has become cacheable again is not left unprotected.
 */
const passFor = 1_000

/**
 * Runs a loader once, until it settles, its hard timeout is over, or `lost` resolves: whichever is first decides.
 * A loader that goes on after its timeout is heard no more; its late rejection is nobody's.
 */
export function load(run: {
  key: string
  loader: Loader<unknown>
  plan: Plan
  clock: Clock
  fence: bigint | null
  stale: Stale | null
  lost: Promise<CacheError>
}): Promise<Loaded> {
  const { key, loader, plan, clock } = run
  let abort: AbortController | null = null
  let aborted: CacheError | null = null
  const abortWith = (error: CacheError): void => {
    aborted = error
    abort?.abort(error)
  }
  const startedAt = clock.now()
  let ttl: number | null = null
  let { grace } = plan
  let tags = plan.tags
  let validators: Validators | null = null
  let passes: number | null = null
  const context: LoadContext = {
    key,
    // Made when asked for: it costs more than all the rest of a load.
    get signal() {
      if (abort === null) {
        abort = new AbortController()
        if (aborted !== null) abort.abort(aborted)
      }
      return abort.signal
    },
    fence: run.fence,
    stale: run.stale,
    ttl(given) {
      ttl = milliseconds('ttl', given, { most: longestLife })
    },
    grace(given) {
      grace = milliseconds('grace', given, { least: 0, most: longestLife })
    },
    tags(...given) {
      tags = checkedTags('tags', [...tags, ...given])
    },
    validators(given) {
      validators = checkedValidators(given)
    },
    notModified<T>() {
      if (run.stale === null)
        throw new TypeError(`Expected a stale value of ${quoted(key)} that was not modified: there is none`)
      validators ??= checkedValidators(validatorsOf(run.stale))
      return run.stale.value as T
    },
    doNotStore(given = passFor) {
      passes = milliseconds('passFor', given, { most: longestTimer })
    },
  }
  const ended = new Promise<Ended>((resolve) => {
    const timedOut = (): void => {
      const error = new CacheError('LOAD_TIMEOUT', `Loading ${quoted(key)} took longer than ${plan.hardTimeout} ms`, {
        key,
      })
      resolve({ state: 'failed', error })
      abortWith(error)
    }
    // It may go on after the cache has been closed; those who wait have timers of their own.
    const timer = clock.after(plan.hardTimeout, timedOut, 'background')
    new Promise((settle) => settle(loader(context))).then(
      (value) => {
        timer.cancel()
        if (passes !== null) return resolve({ state: 'pass', value, passFor: passes })
        resolve({
          state: 'value',
          value,
          ttl: ttl ?? ttlOf(value, plan),
          grace,
          tags,
          validators,
          loadTime: clock.now() - startedAt,
        })
      },
      (thrown: unknown) => {
        timer.cancel()
        resolve({ state: 'failed', error: loadFailed(key, thrown) })
      },
    )
  })
  const lost = run.lost.then((error): Loaded => {
    abortWith(error)
    return { state: 'lost', error, ended }
  })
  return Promise.race([ended, lost])
}

/** The value that a load brought; throws its error if it brought none. */
export function valueOf(loaded: Loaded): unknown {
  if (loaded.state === 'failed' || loaded.state === 'lost') throw loaded.error
  return loaded.value
}

/** Throws TypeError unless it is a function. */
export function checkLoader(key: string, loader: unknown): void {
  if (typeof loader === 'function') return
  throw new TypeError(`Expected a loader function for ${quoted(key)}, got ${shown(loader)}`)
}
