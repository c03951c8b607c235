import type { Cache } from './cache.ts'
import { checkOptions } from '../options/checks.ts'
import { formatValue } from '../time/duration.ts'
import { checkKey } from '../entry/key.ts'
import type { Loader } from '../load/loader.ts'
import type { CallOptions } from '../options/options.ts'

/** Knows which keys there may be: a Bloom filter, a cuckoo filter, a `Set`, something on a server. It is yours. */
export interface KeyFilter {
  /**
   * `false`: the key certainly does not exist. Whatever else it says, or if it throws, the key may exist.
   * It must settle by itself: nothing else ends the wait for it.
   */
  has(key: string): boolean | Promise<boolean>
}

/** What may be said to `onlyKnown`. */
export interface OnlyKnownOptions<Absent> {
  /** What a caller is given for a key that does not exist. Default `null`. */
  readonly absent?: Absent
}

/** A cache that asks for no key that its filter says does not exist. */
export interface KnownKeys<Absent> {
  /** As `getOrLoad` of the cache; for a key that does not exist `absent`, without asking the store or the source. */
  getOrLoad<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T | Absent>
}

/**
 * Keeps questions for keys that do not exist away from the cache: they leave nothing in the store, and cost it and the source
 * nothing. A filter that fails keeps nothing away.
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

/** A filter that fails must not make what exists disappear. */
async function mayExist(filter: KeyFilter, key: string): Promise<boolean> {
  try {
    return (await filter.has(key)) !== false
  } catch {
    return true
  }
}
