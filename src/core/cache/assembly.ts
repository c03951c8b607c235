import { causalClock } from '../time/clock.ts'
import type { Lease, Store } from '../contract/store.ts'
import { Keyspace } from '../entry/key.ts'
import { Watchdog } from '../lease/watchdog.ts'
import { LeaseCompletion } from '../load/complete.ts'
import { LoadFailures } from '../load/failures.ts'
import type { FlightParts } from '../load/flight.ts'
import { Flights } from '../load/flights.ts'
import { LeaselessLoads, LeaselessQueue } from '../load/leaseless-queue.ts'
import { Pacing } from '../load/pacing.ts'
import { UnstoredValues, withErrorAnswers } from '../load/payload.ts'
import { Near, type NearParts } from '../near/near.ts'
import { Events } from '../observe/events.ts'
import { Tracing } from '../observe/tracing.ts'
import type { CachePlan } from '../options/plan.ts'
import { GuardedStore } from '../outage/guarded-store.ts'
import type { Call } from './call.ts'
import { Calls } from './calls.ts'
import { describeHolder, type ExplainParts } from './explain.ts'
import { Reads } from './reads.ts'
import type { WriteParts } from './writes.ts'

/** The parts of one cache. */
export interface CacheParts extends ExplainParts, WriteParts, FlightParts {
  readonly store: GuardedStore
  readonly calls: Calls
  readonly reads: Reads<Call>
  readonly leaselessLoads: LeaselessLoads
  readonly near: Near | null
  readonly copies: Set<Near>
}

/**
 * Creates the parts of a cache.
 * @param elder the parts of the cache whose sibling this one is
 */
export function assemble(plan: CachePlan, backing: Store, elder: CacheParts | null = null): CacheParts {
  const { clock, commandTimeout, maxConcurrentLoads: most, maxQueuedLoads: mostQueued } = plan
  const keyspace = new Keyspace(plan.namespace, plan.prefixes)
  const causalNow = causalClock()
  const events = elder?.events ?? new Events(plan.namespace, plan.stats.topKeys)
  const tracing = elder?.tracing ?? new Tracing()
  const keepsInvalidations = plan.onInvalidateFailure === 'replay'
  const store =
    elder?.store ?? new GuardedStore(backing, { timeout: commandTimeout, keepsInvalidations, clock, events })

  const holder = describeHolder()
  const failures = new LoadFailures(plan.errors, holder, clock)
  const codec = withErrorAnswers(plan.codec, failures)
  const near = nearOf(plan, backing, { keyspace, clock, codec, events })
  const copies = elder?.copies ?? new Set()
  if (near !== null) copies.add(near)

  const unstored = new UnstoredValues(clock)
  const base = { store, keyspace, codec, events, unstored, clock, causalNow, tracing, near, copies, failures }
  const completionParts = { ...base, pacing: new Pacing(clock) }
  const flightParts = {
    ...completionParts,
    completion: new LeaseCompletion(completionParts),
    watchdog: new Watchdog<Lease>((leases) => store.renew(leases), clock),
    leaselessQueue: new LeaselessQueue({ most, mostQueued, patience: commandTimeout, clock, events, causalNow }),
    holder,
  }
  const parts = {
    ...flightParts,
    flights: new Flights(flightParts, (key) => near?.forget(key)),
    reads: new Reads<Call>(base),
    leaselessLoads: new LeaselessLoads(base),
  }
  return { ...parts, calls: new Calls({ ...parts, commandTimeout }) }
}

function nearOf({ near }: CachePlan, store: Store, parts: NearParts): Near | null {
  if (near === null) return null
  const watch = store.watch?.bind(store)
  if (watch === undefined) {
    throw new TypeError(
      'Expected a store that tells what goes, such as redisStore(client), for `near`; got one without watch()',
    )
  }
  return new Near(near, watch, parts)
}
