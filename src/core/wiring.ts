import type { Clock } from './clock.ts'
import type { Codec } from './codec.ts'
import { Events } from './events.ts'
import { Flights } from './flights.ts'
import type { CallShared } from './get-or-load.ts'
import { GuardedStore } from './guard.ts'
import { thisHolder } from './holder.ts'
import { keyspace } from './key.ts'
import { LonelyLoads } from './lonely-loads.ts'
import { moments } from './moment.ts'
import { Near } from './near.ts'
import { Pacing } from './pacing.ts'
import type { CachePlan } from './plan.ts'
import { Reads } from './reads.ts'
import type { Lease, Store } from './store.ts'
import { TagNames } from './tag-names.ts'
import { Tracing } from './tracing.ts'
import { Unleased } from './unleased.ts'
import { UnstoredValues } from './unstored-values.ts'
import { Watchdog } from './watchdog.ts'

/** All that the calls of one cache share, made by its plan. @param elder the cache that it is a sibling of */
export function wired(plan: CachePlan, backing: Store, elder: CallShared | null = null): CallShared {
  const { clock, codec, commandTimeout, maxConcurrentLoads: most, maxQueuedLoads: mostQueued } = plan
  const events = elder?.events ?? new Events(plan.namespace, plan.stats.topKeys)
  const moment = moments()
  const keeps = plan.onInvalidateFailure === 'replay'
  const store = elder?.store ?? new GuardedStore(backing, { timeout: commandTimeout, keeps, clock, events })
  const watchdog = new Watchdog<Lease>((leases) => store.renew(leases), clock)
  const namespace = keyspace(plan.namespace)
  const named = (key: string): string => namespace + key
  const tagNames = new TagNames(namespace, plan.prefixes)
  const near = nearOf(plan, backing, { namespace, clock, codec, events })
  const copies = elder?.copies ?? new Set()
  if (near !== null) copies.add(near)
  const pacing = new Pacing(clock)
  const unleased = new Unleased({ most, mostQueued, patience: commandTimeout, clock, events, moment })
  const shared = {
    store,
    near,
    copies,
    named,
    tagNames,
    watchdog,
    unleased,
    pacing,
    unstored: new UnstoredValues(clock),
    clock,
    codec,
    events,
    moment,
    token: () => store.newToken(),
    tracing: elder?.tracing ?? new Tracing(),
    holder: thisHolder(),
  }
  return {
    ...shared,
    reads: new Reads(shared),
    flights: new Flights(shared),
    lonely: new LonelyLoads(shared),
    open: new Set(),
  }
}

function nearOf(
  { near }: CachePlan,
  store: Store,
  shared: { namespace: string; clock: Clock; codec: Codec; events: Events },
): Near | null {
  if (near === null) return null
  const watch = store.watch?.bind(store)
  if (watch === undefined) {
    throw new TypeError(
      'Expected a store that tells what goes, such as redisStore(client), for `near`; got one without watch()',
    )
  }
  return new Near(near, watch, shared)
}
