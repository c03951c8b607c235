import { checkOptions, shape, integer, oneOf } from '../core/options/checks.ts'
import type { NearOptions } from '../core/options/options.ts'
import { replaceableClock, type Clock } from '../core/time/clock.ts'
import { longestLife } from '../core/time/duration.ts'
import type { Store } from '../core/contract/store.ts'
import { MemoryStore } from './store.ts'

/** The bounds of a `memoryStore`. */
export interface MemoryStoreOptions {
  /** The most values, up to 16 777 216; the least recently used is evicted first. Default 10 000. */
  readonly max?: number
  /** The most bytes, of payloads and keys. Default 67108864 (64 MiB). */
  readonly maxSize?: number
  /**
   * How callers are kept from changing each other's value: each gets a copy (`'cloned'`, the default), or the shared
   * value is `'frozen'`, or `'shared'` as it is; see the option `near` of a cache, which comes first.
   */
  readonly values?: NearOptions['values']
  /** The clock by which values and leases age, for tests on virtual time. Default: this machine's, or fake timers. */
  readonly clock?: Clock
}

/** The LRU cache allocates the room for all values at once. */
const mostValues = 16_777_216

const checks = {
  max: integer(1, mostValues),
  maxSize: integer(1),
  values: oneOf('frozen', 'cloned', 'shared'),
  clock: shape('an object with now() and after()', ['now', 'after']),
}

/**
 * A store in the memory of this process: for one process, for tests, and for experiments. Values are kept as bytes, so
 * that no caller can change another caller's value.
 * @throws TypeError for an unknown option or a wrong value
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const given: MemoryStoreOptions = checkOptions('memoryStore', options, checks)
  const { max = 10_000, maxSize = 67_108_864, values = 'cloned', clock = replaceableClock } = given
  return new MemoryStore({ max, maxSize, ttl: longestLife, values }, clock)
}
