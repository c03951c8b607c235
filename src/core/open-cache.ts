import type { Cache } from './cache.ts'
import type { Clock } from './clock.ts'
import { jsonCodec } from './codec.ts'
import { FleetCache } from './fleet-cache.ts'
import { ObservingCache } from './observing-cache.ts'
import type { CacheOptions } from './options.ts'
import { planOf } from './plan.ts'
import type { Store } from './store.ts'

/**
 * A cache as the options say.
 * @param options each with a default
 * @param defaultStore makes the store if the options name none, with the clock of the cache
 * @throws TypeError for an unknown option or a value it cannot have
 */
export function openCache(options: CacheOptions, defaultStore: (clock: Clock) => Store): Cache {
  const plan = planOf(options)
  if (plan.mode === 'cache') return new FleetCache(plan, plan.store ?? defaultStore(plan.clock))
  const shadow = new FleetCache({ ...plan, codec: jsonCodec(), near: null }, defaultStore(plan.clock))
  return new ObservingCache(plan, shadow)
}
