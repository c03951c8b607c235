import type { Cache } from './core/cache/cache.ts'
import { checkOptions, fraction, integer } from './core/options/checks.ts'
import { longestTimer, formatValue } from './core/time/duration.ts'
import type { LoadContext, Loader } from './core/flight/loader.ts'
import type { CallOptions } from './core/options/options.ts'
import { checkCallOptions } from './core/options/plan.ts'

/** The options of a warm-up: those of a call, some with other defaults. */
export interface WarmUpOptions extends Omit<CallOptions, 'jitter'> {
  /** How many keys are requested at once. Default 8. */
  readonly concurrency?: number | undefined
  /** Shortens each ttl by a random part of up to this fraction, to spread the ends of warmed values. Default 0.1. */
  readonly spread?: number | undefined
  /** Ends the warm-up with the signal's reason: no further key is requested. Running loads go on. */
  readonly signal?: AbortSignal | undefined
}

/** The result of a warm-up, in numbers of keys. */
export interface WarmedUp {
  /** Loaded by this call. */
  readonly loaded: number
  /** Present before, or loaded by another process meanwhile. */
  readonly present: number
  /** Failed. */
  readonly failed: number
  /** The first 100 failures, with the errors of `getOrLoad`. */
  readonly failures: readonly { readonly key: string; readonly error: unknown }[]
}

const mostFailures = 100

/**
 * Loads the missing values of many keys, once in the fleet even if several processes warm up at once. A failing key
 * does not stop the others.
 * @param keys consumed one by one as there is room, so they may be millions
 * @throws TypeError for a wrong argument; the signal's reason; the error of `keys`
 */
export async function warmUp(
  cache: Pick<Cache, 'getOrLoad'>,
  keys: Iterable<string> | AsyncIterable<string>,
  loader: Loader<unknown>,
  options: WarmUpOptions = {},
): Promise<WarmedUp> {
  checkArguments(cache, keys, loader)
  const { concurrency, signal, call } = planned(options)
  signal?.throwIfAborted()
  const failures: { key: string; error: unknown }[] = []
  let [loaded, present, failed, running] = [0, 0, 0, 0]
  let ended = (): void => undefined

  const ask = async (key: string): Promise<void> => {
    let own = false
    const noted = async (context: LoadContext): Promise<unknown> => {
      const value = await loader(context)
      own = true
      return value
    }
    try {
      await cache.getOrLoad(key, noted, call)
      if (own) loaded++
      else present++
    } catch (error) {
      if (++failed <= mostFailures) failures.push({ key, error })
    }
    running--
    ended()
  }
  const oneEnds = (): Promise<void> => new Promise((resolve) => (ended = resolve))
  const askAll = async (): Promise<WarmedUp> => {
    for await (const key of keys) {
      if (running === concurrency) await oneEnds()
      if (signal?.aborted === true) break
      running++
      void ask(key)
    }
    while (running > 0) await oneEnds()
    return { loaded, present, failed, failures }
  }
  return signal === undefined ? askAll() : unlessAborted(signal, askAll())
}

/** The outcome, or the signal's reason if that comes first: the next of `keys` may take long. */
async function unlessAborted<T>(signal: AbortSignal, outcome: Promise<T>): Promise<T> {
  let abort = (): void => undefined
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
  })
  try {
    return await Promise.race([outcome, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function checkArguments(cache: unknown, keys: unknown, loader: unknown): void {
  if (typeof (cache as Cache | null)?.getOrLoad !== 'function') {
    throw new TypeError(`Expected a cache to warm up, got ${formatValue(cache)}`)
  }
  const { [Symbol.iterator]: each, [Symbol.asyncIterator]: next } = Object(keys) as Partial<
    Iterable<string> & AsyncIterable<string>
  >
  // A string iterates over its characters, which are hardly the keys.
  if (typeof keys === 'string' || (each === undefined && next === undefined)) {
    throw new TypeError(`Expected an iterable of keys, or an asynchronous one, got ${formatValue(keys)}`)
  }
  if (typeof loader !== 'function') throw new TypeError(`Expected a loader function, got ${formatValue(loader)}`)
}

/** The checked options. A wrong option would otherwise fail every key, one by one. */
function planned(options: WarmUpOptions): {
  concurrency: number
  signal: AbortSignal | undefined
  call: CallOptions
} {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`Expected the options of warmUp to be an object, got ${formatValue(options)}`)
  }
  const { concurrency = 8, spread = 0.1, signal, ...rest } = options
  checkOptions('warmUp', { concurrency, spread }, { concurrency: integer(1), spread: fraction })
  if ('jitter' in rest) throw new TypeError('Unknown option `jitter` of warmUp; expected `spread`')
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  const call: CallOptions = {
    // A warm-up replaces stale values, and a background refresh would not count toward `concurrency`.
    softTimeout: longestTimer,
    refreshAhead: false,
    // Without the store nothing can be warmed, and the loads would be wasted.
    onStoreFailure: 'throw',
    priority: 'low',
    ...given,
    jitter: spread,
  }
  checkCallOptions(signal === undefined ? call : { ...call, signal }, 'warmUp')
  return { concurrency, signal, call }
}
