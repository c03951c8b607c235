import { jsonCodec } from '../codec/codec.ts'
import type { Store } from '../contract/store.ts'
import type { Events } from '../observe/events.ts'
import type { CacheOptions } from '../options/options.ts'
import { planOf, type CachePlan } from '../options/plan.ts'
import type { Clock } from '../time/clock.ts'
import { assemble } from './assembly.ts'
import type { Cache } from './cache.ts'
import { FleetCache } from './fleet-cache.ts'
import { ObservingCache } from './observing-cache.ts'

/**
 * Creates a cache.
 * @param options all optional
 * @param defaultStore creates the store if the options have none, with the clock of the cache
 * @param watch begins to watch the cache, unless the option `warnings` is `false`; absent for a cache of a tool
 * @throws TypeError for an unknown option or a wrong value
 */
export function openCache(
  options: CacheOptions,
  defaultStore: (clock: Clock) => Store,
  watch?: (events: Events, options: CacheOptions, plan: CachePlan) => void,
): Cache {
  const plan = planOf(options)
  const isReal = plan.mode === 'cache'
  const store = (isReal ? plan.store : undefined) ?? defaultStore(plan.clock)
  const its = isReal
    ? { ...plan, near: plan.near ?? store.near ?? null }
    : // Placeholders need no more.
      { ...plan, codec: jsonCodec(), near: null }
  const cache = new (isReal ? FleetCache : ObservingCache)(its, store, assemble(its, store))
  if (plan.warnings) watch?.(cache.events, options, plan)
  return cache
}
