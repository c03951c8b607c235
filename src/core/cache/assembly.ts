import { withErrorAnswers } from '../codec/error-answer.ts'
import { LoadFailures } from '../codec/load-failures.ts'
import type { Lease, Store, Watch } from '../contract/store.ts'
import type { Mode } from '../contract/mode.ts'
import { Keyspace, namespacePrefix } from '../entry/key.ts'
import { Callers } from '../flight/callers.ts'
import { Flights } from '../flight/flights.ts'
import { Pacing } from '../flight/pacing.ts'
import type { FlightParts } from '../flight/parts.ts'
import { Reads } from '../flight/reads.ts'
import { Semaphore } from '../flight/semaphore.ts'
import { UnleasedLoads } from '../flight/unleased-loads.ts'
import { UnstoredValues } from '../flight/unstored-values.ts'
import { GuardedStore } from '../guard/guarded-store.ts'
import { Modes } from '../guard/modes.ts'
import { Watchdog } from '../lease/watchdog.ts'
import { Near, type NearParts } from '../near/near.ts'
import { Events } from '../observe/events.ts'
import { Tracing } from '../observe/tracing.ts'
import type { CachePlan } from '../options/plan.ts'
import { Sources } from '../source/sources.ts'
import { causalClock } from '../time/clock.ts'
import { Deadlines } from '../time/deadlines.ts'
import { describeHolder } from './explain.ts'
import type { Rehearsal } from './rehearsal.ts'

/** The most claims under way of a cache: ten commands of a hundred keys each. */
const mostClaims = 1_000

/** The parts of one cache. */
export interface CacheParts extends FlightParts {
  readonly reads: Reads
  readonly flights: Flights
  readonly callers: Callers
  /** The near caches of this cache and of its siblings. */
  readonly copies: Set<Near>
  /** The mode `observe`; absent from the parts of the rehearsal itself. */
  readonly rehearsal?: Rehearsal | undefined
}

/** Parts that caches share: siblings share all of them. */
type SharedParts = Pick<CacheParts, 'events' | 'tracing' | 'store' | 'modes' | 'sources' | 'copies' | 'rehearsal'>

/**
 * Creates the parts of a cache.
 * @param given those that there are already
 */
export function assemble(plan: CachePlan, backing: Store, given: Partial<SharedParts> = {}): CacheParts {
  const { clock, commandTimeout, maxConcurrentLoads: most, maxQueuedLoads: mostQueued } = plan
  const keyspace = new Keyspace(plan.namespace, plan.prefixes)
  const { events = new Events(plan.namespace), tracing = new Tracing(), copies = new Set(), rehearsal } = given
  const keepsInvalidations = plan.onInvalidateFailure === 'replay'
  const modes = given.modes ?? modesOf(plan, backing, { events, copies, rehearsal })
  const store =
    given.store ?? new GuardedStore(backing, { timeout: commandTimeout, keepsInvalidations, clock, events, modes })

  const holder = describeHolder()
  const failures = new LoadFailures(plan.errors, holder, clock)
  const codec = withErrorAnswers(plan.codec, failures)
  const near = nearOf(plan, backing, { keyspace, clock, codec, events })
  const spare = near ?? bridgeOf(plan, { keyspace, clock, codec, events })
  if (spare !== null) copies.add(spare)

  const parts: FlightParts = {
    store,
    modes,
    keyspace,
    codec,
    events,
    clock,
    causalNow: causalClock(),
    tracing,
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
      given.sources ??
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
  return { ...parts, copies, rehearsal, reads, flights, callers: new Callers(parts, flights, reads) }
}

/**
 * Resolves when no call, flight or write of a cache is under way, including those that began meanwhile.
 * @param writes those under way
 */
export async function idleParts(
  { callers, flights, rehearsal }: CacheParts,
  writes: ReadonlySet<Promise<void>>,
): Promise<void> {
  do {
    await Promise.allSettled([flights.settled(), callers.settled(), rehearsal?.settled(), ...writes])
  } while (!callers.areIdle || writes.size > 0)
}

/** Ends the calls under way of a cache, and drops its copies. */
export async function endParts({ callers, unleased, flights, watchdog, spare }: CacheParts): Promise<void> {
  callers.close()
  unleased.giveUp()
  await flights.close()
  watchdog.close()
  spare?.close()
}

/** The mode of a cache: at each change, its copies go, for an invalidation may be missed before they are used again. */
function modesOf(
  { mode: own, namespace, clock }: CachePlan,
  backing: Store,
  { events, copies, rehearsal }: Pick<CacheParts, 'events' | 'copies' | 'rehearsal'>,
): Modes {
  const ask = backing.fleetMode?.bind(backing, namespacePrefix(namespace)) ?? null
  const changed = (mode: Mode): void => {
    for (const near of copies) near.dropAll()
    if (mode !== 'observe') void rehearsal?.end()
    events.emit('mode', { mode })
  }
  return new Modes({ own, ask, clock, changed })
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
  if (near.foreign !== true) return new Near(near, watch, parts)
  const watchForeign = store.watchForeign?.bind(store)
  if (watchForeign === undefined) {
    throw new TypeError(
      'Expected a store that hears of changes by others, such as redisStore(client), for `near.foreign`; got one without watchForeign()',
    )
  }
  return new Near(near, watchForeign, parts)
}
