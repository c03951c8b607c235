import type { Cache } from './core/cache/cache.ts'
import { checkOptions } from './core/options/checks.ts'
import { formatValue } from './core/time/duration.ts'
import { checkKey } from './core/entry/key.ts'
import type { Loader } from './core/flight/loader.ts'
import type { CallOptions } from './core/options/options.ts'

/**
 * A filter of existing keys: a Bloom filter, a cuckoo filter, a `Set`, or a query to a server. It belongs to the user.
 */
export interface KeyFilter {
  /**
   * Returns `false` if the key certainly does not exist. Any other result, or an error, means that it may exist. It
   * must settle by itself: no timeout bounds it.
   */
  has(key: string): boolean | Promise<boolean>
}

/** The options of `onlyKnown`. */
export interface OnlyKnownOptions<Absent> {
  /** The value for a key that does not exist. Default `null`. */
  readonly absent?: Absent
}

/** A cache behind a filter of existing keys. */
export interface KnownKeys<Absent> {
  /** As `getOrLoad` of the cache; for a key that does not exist `absent`, without the store or the source. */
  getOrLoad<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T | Absent>
}

/**
 * Puts a filter in front of a cache: requests for keys that do not exist cost neither the store nor the source
 * anything, and leave nothing in the store. A failing filter lets every key through.
 * @throws TypeError for a wrong argument
 */
export function onlyKnown<Absent = null>(
  cache: Pick<Cache, 'getOrLoad'>,
  filter: KeyFilter,
  options: OnlyKnownOptions<Absent> = {},
): KnownKeys<Absent> {
  if (typeof (cache as Cache | null)?.getOrLoad !== 'function') {
    throw new TypeError(`Expected a cache, got ${formatValue(cache)}`)
  }
  if (typeof (filter as KeyFilter | null)?.has !== 'function') {
    throw new TypeError(`Expected a filter with has(), got ${formatValue(filter)}`)
  }
  checkOptions('onlyKnown', options, { absent: (_, value) => value })
  const absent = ('absent' in options ? options.absent : null) as Absent
  return {
    async getOrLoad(key, loader, callOptions) {
      checkKey(key)
      if (!(await mayExist(filter, key))) return absent
      return cache.getOrLoad(key, loader, callOptions)
    },
  }
}

/** A failing filter must not hide existing keys. */
async function mayExist(filter: KeyFilter, key: string): Promise<boolean> {
  try {
    return (await filter.has(key)) !== false
  } catch {
    return true
  }
}
