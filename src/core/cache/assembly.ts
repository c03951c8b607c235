import { withErrorAnswers } from '../codec/error-answer.ts'
import { LoadFailures } from '../codec/load-failures.ts'
import type { Lease, Store, Watch } from '../contract/store.ts'
import { Keyspace } from '../entry/key.ts'
import { Callers } from '../flight/callers.ts'
import { Flights } from '../flight/flights.ts'
import { Pacing } from '../flight/pacing.ts'
import type { FlightParts } from '../flight/parts.ts'
import { Reads } from '../flight/reads.ts'
import { Semaphore } from '../flight/semaphore.ts'
import { UnleasedLoads } from '../flight/unleased-loads.ts'
import { UnstoredValues } from '../flight/unstored-values.ts'
import { GuardedStore } from '../guard/guarded-store.ts'
import { Watchdog } from '../lease/watchdog.ts'
import { Near, type NearParts } from '../near/near.ts'
import { Events } from '../observe/events.ts'
import { Tracing } from '../observe/tracing.ts'
import type { CachePlan } from '../options/plan.ts'
import { Sources } from '../source/sources.ts'
import { causalClock } from '../time/clock.ts'
import { Deadlines } from '../time/deadlines.ts'
import { describeHolder } from './explain.ts'

/** The most claims under way of a cache: ten commands of a hundred keys each. */
const mostClaims = 1_000

/** The parts of one cache. */
export interface CacheParts extends FlightParts {
  readonly reads: Reads
  readonly flights: Flights
  readonly callers: Callers
  /** The near caches of this cache and of its siblings. */
  readonly copies: Set<Near>
}

/**
 * Creates the parts of a cache.
 * @param elder the parts of the cache whose sibling this one is
 */
export function assemble(plan: CachePlan, backing: Store, elder: CacheParts | null = null): CacheParts {
  const { clock, commandTimeout, maxConcurrentLoads: most, maxQueuedLoads: mostQueued } = plan
  const keyspace = new Keyspace(plan.namespace, plan.prefixes)
  const events = elder?.events ?? new Events(plan.namespace)
  const keepsInvalidations = plan.onInvalidateFailure === 'replay'
  const store =
    elder?.store ?? new GuardedStore(backing, { timeout: commandTimeout, keepsInvalidations, clock, events })

  const holder = describeHolder()
  const failures = new LoadFailures(plan.errors, holder, clock)
  const codec = withErrorAnswers(plan.codec, failures)
  const near = nearOf(plan, backing, { keyspace, clock, codec, events })
  const copies = elder?.copies ?? new Set()
  const spare = near ?? bridgeOf(plan, { keyspace, clock, codec, events })
  if (spare !== null) copies.add(spare)

  const parts: FlightParts = {
    store,
    keyspace,
    codec,
    events,
    clock,
    causalNow: causalClock(),
    tracing: elder?.tracing ?? new Tracing(),
    near,
    spare,
    failures,
    unstored: new UnstoredValues(clock),
    pacing: new Pacing(clock),
    watchdog: new Watchdog<Lease>((leases) => store.renew(leases), clock),
    deadlines: new Deadlines(clock),
    hardDeadlines: new Deadlines(clock, 'background'),
    // With keys on several servers, the silence of one must not hold up the claims of the others.
    claims: new Semaphore(backing.sharded ? Number.POSITIVE_INFINITY : mostClaims),
    sources:
      elder?.sources ??
      new Sources(plan.sources, backing, {
        clock,
        timeout: commandTimeout,
        reported: (use) => events.emit('permits', use),
      }),
    unleased: new UnleasedLoads({ most, mostQueued, patience: commandTimeout, clock, events }),
    holder,
  }
  const reads = new Reads(parts, backing.sharded)
  const flights = new Flights(parts)
  return { ...parts, copies, reads, flights, callers: new Callers(parts, flights, reads, commandTimeout) }
}

/** The most values, and bytes, that a cache without near copies keeps of its loads while the store is away. */
const mostBridged = { max: 1_000, maxSize: 16_777_216 }

/** Copies of a cache without near copies: a store that promises nothing leaves them to the time when it is away. */
function bridgeOf({ bridge: ttl }: CachePlan, parts: NearParts): Near | null {
  const never: Watch = { until: Number.NEGATIVE_INFINITY, keep: () => undefined, close: () => undefined }
  return ttl === 0 ? null : new Near({ ...mostBridged, ttl, values: 'cloned' }, () => never, parts)
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
