import type { NamedLease } from '../held.ts'

/** The loads under way in one round of `herdless watch`. Durations are milliseconds. */
export interface Snapshot {
  /** The end of the round, in ISO 8601. */
  readonly time: string
  /** How long the round took. */
  readonly took: number
  /** The number of loads, and of processes that wait for one of them. */
  readonly loads: number
  readonly waiting: number
  /** How many loads of the round before have ended. */
  readonly ended: number
  /** The loads for which most processes wait come first, then the oldest. */
  readonly leases: readonly NamedLease[]
}

/** The largest part of the time in which the server is scanned. */
const share = 0.1

/**
 * A snapshot of the found leases.
 * @param before the snapshot before; `null` for the first
 */
export function snapshotOf(
  found: readonly NamedLease[],
  before: Snapshot | null,
  { time, took }: Pick<Snapshot, 'time' | 'took'>,
): Snapshot {
  const leases = found.toSorted((one, other) => waitingFor(other) - waitingFor(one) || other.age - one.age)
  const held = new Set(found.map(({ token }) => token))
  return {
    time,
    took,
    loads: leases.length,
    waiting: leases.reduce((sum, lease) => sum + waitingFor(lease), 0),
    ended: before === null ? 0 : before.leases.filter(({ token }) => !held.has(token)).length,
    leases,
  }
}

function waitingFor({ waiting }: NamedLease): number {
  return waiting ?? 0
}

/**
 * The pause after a round, in milliseconds: long enough that scans take no more than a tenth of the time.
 * @param interval the time from the begin of one round to that of the next
 */
export function pauseAfter(took: number, interval: number): number {
  return Math.max(interval, took / share) - took
}
