import type { Cache } from '../core/cache/cache.ts'
import type { LoadContext } from '../core/flight/loader.ts'
import { longestLife, type Duration } from '../core/time/duration.ts'

/** The token of the cache manager, the same as that of the package cache-manager of Nest. */
export const CACHE_MANAGER = 'CACHE_MANAGER'

/** Milliseconds, or a function that makes them of the value. */
export type OfValue<T> = number | ((value: T) => number)

/** The options of `wrap` of a cache manager. */
export interface ManagerWrapOptions<T> {
  /** How long the value is fresh, in milliseconds; 0 for ever. Default: the `ttl` of the cache. */
  readonly ttl?: OfValue<T> | undefined
  /** How long before the end of its ttl a value that is asked for is loaded anew, in milliseconds. Default: never. */
  readonly refreshThreshold?: OfValue<T> | undefined
  /** Whether to return the value with the time of its end. Default `false`. */
  readonly raw?: boolean | undefined
}

/**
 * A cache in the shape of that of cache-manager 6 and 7; times are milliseconds. While its store is away, it finds no
 * values, `wrap` loads, and changes reject with `CacheError` STORE_UNAVAILABLE.
 */
export class CacheManager {
  readonly #cache: Cache

  constructor(cache: Cache) {
    this.#cache = cache
  }

  /** The value of a key if it is fresh, else `undefined`. */
  async get<T>(key: string): Promise<T | undefined> {
    return (await this.mget<T>([key]))[0]
  }

  /** The values of several keys, in their order, as `get` finds them. */
  async mget<T>(keys: readonly string[]): Promise<(T | undefined)[]> {
    const found = await this.#cache.peekMany<T>(keys)
    return found.map((each) => ('state' in each && each.state === 'fresh' ? each.value : undefined))
  }

  /** When the ttl of a key ends, as `Date.now()` will say; `undefined` without a fresh value. */
  async ttl(key: string): Promise<number | undefined> {
    const [found] = await this.#cache.peekMany([key])
    return found !== undefined && 'state' in found && found.state === 'fresh' ? Date.now() + found.ttl : undefined
  }

  /**
   * Stores a value, for all processes.
   * @param ttl in milliseconds; 0 for ever. Default: the `ttl` of the cache
   * @returns the value
   */
  async set<T>(key: string, value: T, ttl?: number): Promise<T> {
    await this.#cache.set(key, value, lifeOf(ttl))
    return value
  }

  /** Stores several values, each as `set` does; resolves with the list. */
  async mset<T>(list: { key: string; value: T; ttl?: number }[]): Promise<typeof list> {
    await Promise.all(list.map(({ key, value, ttl }) => this.set(key, value, ttl)))
    return list
  }

  /** Invalidates a key, for all processes. */
  async del(key: string): Promise<true> {
    return this.mdel([key])
  }

  /** Invalidates several keys. */
  async mdel(keys: readonly string[]): Promise<true> {
    await this.#cache.invalidate(keys)
    return true
  }

  /** Invalidates all values of the cache. */
  async clear(): Promise<true> {
    await this.#cache.clear()
    return true
  }

  /** The value of a key, loaded once in the fleet if there is none, or only `undefined`. */
  wrap<T>(key: string, load: () => T | Promise<T>, ttl?: OfValue<T>, refreshThreshold?: OfValue<T>): Promise<T>
  wrap<T>(key: string, load: () => T | Promise<T>, options: ManagerWrapOptions<T> & { raw: true }): Promise<Raw<T>>
  wrap<T>(key: string, load: () => T | Promise<T>, options: ManagerWrapOptions<T>): Promise<T>
  async wrap<T>(
    key: string,
    load: () => T | Promise<T>,
    given?: OfValue<T> | ManagerWrapOptions<T>,
    threshold?: OfValue<T>,
  ): Promise<T | Raw<T>> {
    const options = typeof given === 'object' ? given : { ttl: given, refreshThreshold: threshold }
    const loader = async (context: LoadContext): Promise<T> => {
      const value = await load()
      if (value === undefined) context.doNotStore()
      const { ttl } = lifeOf(of(options.ttl, value))
      if (ttl !== undefined) context.ttl(ttl)
      return value
    }
    const loaded = await this.#cache.getOrLoadEntry<T>(key, loader)
    const ahead = of(options.refreshThreshold, loaded.value)
    // What it throws is remembered, and seen by events.
    if (ahead !== undefined && loaded.state === 'fresh' && loaded.ttl < ahead) void this.#refresh(key, loader)
    return options.raw === true ? { value: loaded.value, expires: Date.now() + loaded.ttl } : loaded.value
  }

  async #refresh<T>(key: string, loader: (context: LoadContext) => Promise<T>): Promise<void> {
    await this.#cache.refresh<T>(key, loader).catch(() => {})
  }
}

/** A value of a cache manager, with the time of its end. */
interface Raw<T> {
  value: T
  expires: number
}

function of<T>(given: OfValue<T> | undefined, value: T): number | undefined {
  return typeof given === 'function' ? given(value) : given
}

/** A ttl of cache-manager, where 0 is for ever, as an option of a call. */
export function lifeOf<T extends Duration>(ttl: T | undefined): { ttl?: T | number } {
  return ttl === undefined ? {} : { ttl: ttl === 0 ? longestLife : ttl }
}
