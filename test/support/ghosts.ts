/** Leases that stand in Redis although no load runs under them any more, so that nobody loads their keys. */
import { endOfBelief, type Call, type History, type Load, type SeenLease } from './history.ts'

/** A lease that outlived its load. */
export interface Ghost {
  readonly key: string
  readonly token: string
  /** The load that ran under it, if one was ever heard of. */
  readonly load: Load | undefined
  /** When it had been there for too long. */
  readonly at: number
  /** For how long it was there without a load, in milliseconds. */
  readonly ms: number
}

/** How long a lease may be there without its load while nothing is wrong, in milliseconds. */
const tolerance = 1_000

/** How soon after a fault all leases without a load must be gone, in milliseconds, if nothing is said. */
const healed = 1_500

/**
 * The leases that were seen for too long after their load had ended. A process that stands still cannot give anything
 * back; nor can one that was killed, whose lease is taken over by those who wait for its key: their wait counts.
 *
 * @param queues how long a lease may wait for the permit of its load, in milliseconds
 */
export function ghostsOf(history: History, healsWithin = 0, queues = 0): Ghost[] {
  const disturbed = history.faults().map(({ from, to }) => ({ from, to: to + Math.max(healed, healsWithin) }))
  const loads = new Map<string, Load>()
  for (const load of history.loads.values()) loads.set(`${load.fence} ${load.key}`, load)
  return sightings(history).flatMap(({ lease, moments }) => {
    const load = loads.get(`${lease.fence} ${lease.key}`)
    const since = Math.max(moments[0] as number, load === undefined ? -Infinity : endOfBelief(history, load))
    const spans = moments
      .map((at) => ({ at, ms: unused(history, lease, since, at) }))
      .filter(({ ms }) => ms > tolerance + (load === undefined ? queues : 0))
    const first = spans.find(({ at }) => disturbed.every(({ from, to }) => at < from || to < at))
    if (first === undefined) return []
    return [{ key: lease.key, token: lease.token, load, at: first.at, ms: Math.max(...spans.map(({ ms }) => ms)) }]
  })
}

interface Sighting {
  readonly lease: SeenLease
  /** When it was seen, without a look between them that did not find it. */
  readonly moments: number[]
}

function sightings({ seen }: History): Sighting[] {
  const all: Sighting[] = []
  let last = new Map<string, Sighting>()
  for (const { at, leases } of seen) {
    const now = new Map<string, Sighting>()
    for (const lease of leases) {
      const sighting = last.get(lease.token) ?? { lease, moments: [] }
      if (sighting.moments.length === 0) all.push(sighting)
      sighting.moments.push(at)
      now.set(lease.token, sighting)
    }
    last = now
  }
  return all
}

/** For how long the holder could have given a lease back, or others could have taken it over. */
function unused(history: History, { key, process }: SeenLease, since: number, at: number): number {
  if (process === null) return at - since
  if (history.killedAt(process) > at) return at - since - history.stood(process, since, at)
  const waiting = history.calls.filter((call) => call.key === key && call.process !== process && waits(call, at))
  return at - Math.max(since, Math.min(at, ...waiting.map((call) => call.at)))
}

function waits({ at: asked, answer }: Call, at: number): boolean {
  return asked <= at && at < (answer?.at ?? Infinity)
}
