import { jsonCodec } from '../codec/codec.ts'
import type { Store } from '../contract/store.ts'
import type { CacheOptions } from '../options/options.ts'
import { planOf } from '../options/plan.ts'
import type { Clock } from '../time/clock.ts'
import type { Cache } from './cache.ts'
import { FleetCache } from './fleet-cache.ts'
import { ObservingCache } from './observing-cache.ts'

/**
 * Creates a cache.
 * @param options all optional
 * @param defaultStore creates the store if the options have none, with the clock of the cache
 * @throws TypeError for an unknown option or a wrong value
 */
export function openCache(options: CacheOptions, defaultStore: (clock: Clock) => Store): Cache {
  const plan = planOf(options)
  if (plan.mode === 'cache') {
    const store = plan.store ?? defaultStore(plan.clock)
    return new FleetCache({ ...plan, near: plan.near ?? store.near ?? null }, store)
  }
  const shadow = new FleetCache({ ...plan, codec: jsonCodec(), near: null }, defaultStore(plan.clock))
  return new ObservingCache(plan, shadow)
}
