import { jsonCodec } from '../codec/codec.ts'
import type { Store } from '../contract/store.ts'
import { Events } from '../observe/events.ts'
import { Tracing } from '../observe/tracing.ts'
import type { CacheOptions } from '../options/options.ts'
import { planOf, type CachePlan } from '../options/plan.ts'
import type { Clock } from '../time/clock.ts'
import { assemble, type CacheParts } from './assembly.ts'
import type { Cache } from './cache.ts'
import { FleetCache } from './fleet-cache.ts'
import { Rehearsal } from './rehearsal.ts'

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
  const { clock, namespace } = plan
  const store = plan.store ?? defaultStore(clock)
  const its = { ...plan, near: plan.near ?? store.near ?? null }
  const [events, tracing] = [new Events(namespace), new Tracing()]
  // Placeholders need no more.
  const placeholders: CachePlan = { ...plan, mode: 'cache', codec: jsonCodec(), near: null, bridge: 0, schema: null }
  const rehearse = (): CacheParts => assemble(placeholders, defaultStore(clock), { events, tracing })
  const rehearsal = new Rehearsal(placeholders, rehearse)
  const cache = new FleetCache(its, store, assemble(its, store, { events, tracing, rehearsal }))
  if (plan.warnings) watch?.(cache.events, options, plan)
  return cache
}
