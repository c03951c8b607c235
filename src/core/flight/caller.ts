import { currentLoad, type LoadNode } from './circular-load.ts'
import type { Stale } from '../codec/payload.ts'
import { freshnessOf } from '../entry/freshness.ts'
import type { Plan } from '../options/plan.ts'
import type { Trace } from '../observe/tracing.ts'
import type { CausalTime } from '../time/clock.ts'
import { clockTolerance } from './answer.ts'
import type { Moment } from './key-flight.ts'
import type { Loader } from './loader.ts'
import type { FoundEntry, ReadResult } from './reads.ts'

/** What a caller asks for. */
export interface Asked {
  readonly key: string
  readonly loader: Loader<unknown>
  readonly plan: Plan
  /** The tags of the value, as far as the caller knows them. */
  readonly tags: readonly string[]
  readonly signal: AbortSignal | undefined
  /** Whether to load even if there is a fresh value. */
  readonly refresh: boolean
  readonly askedAt: CausalTime
  /** By the clock, in milliseconds. */
  readonly askedAtMs: number
}

/** A caller that has no answer yet, with what it has seen of its key. */
export interface Caller extends Asked {
  /** The load whose loader is the caller. */
  readonly parent: LoadNode | null
  /** What it has read last; `null` before. */
  read: ReadResult | null
  /** The token of the value that a refresh replaces, however fresh it is. */
  replaced: string | null
  /** The load that it has waited for in vain, and since when, by the clock. */
  awaited: { readonly token: string; readonly since: number } | null
  /** When it joined its flight, by the clock, in milliseconds. */
  joinedAtMs: number
  /** The callers of the flight that it waits with. */
  moment: Moment | null
  /** The trace of its wait, if it has one of its own. */
  trace: Trace | null
  /** Ends its wait as a loader; `null` for any other caller. */
  leaveNested: (() => void) | null
  /** How many flights had no answer for it, and how many of those were voided. */
  flights: number
  voided: number
  /** Whether it was counted as a miss. */
  missed: boolean
  /** Whether it has its answer, or has left. */
  over: boolean
}

/** A caller that asks in the current asynchronous context. */
export function callerOf(asked: Asked): Caller {
  const { key, loader, plan, tags, signal, refresh, askedAt, askedAtMs } = asked
  return {
    key,
    loader,
    plan,
    tags,
    signal,
    refresh,
    askedAt,
    askedAtMs,
    parent: currentLoad(),
    read: null,
    replaced: null,
    awaited: null,
    joinedAtMs: askedAtMs,
    moment: null,
    trace: null,
    flights: 0,
    voided: 0,
    missed: false,
    leaveNested: null,
    over: false,
  }
}

/** The stored value that a load replaces. Its `value` is `null` if it is of no use here. */
export interface Existing {
  readonly token: string
  readonly value: Stale | null
  /** Whether the store may take it for fresh. */
  readonly replace: boolean
}

/** The value that a load for this caller would replace; `null` if it has found none. */
export function existingFor({ read, plan }: Pick<Caller, 'read' | 'plan'>): Existing | null {
  if (read === null || read.state === 'nothing') return null
  const { entry } = read
  const seen = read.state === 'entry' ? freshnessOf(entry, plan.grace) : 'expired'
  if (read.state !== 'entry' || seen === 'expired') return { token: entry.token, value: null, replace: false }
  return { token: entry.token, value: staleOf(read), replace: seen === 'fresh' || entry.outdated === true }
}

/** The stale value that a caller may be served now: until a new load has replaced it. */
export function staleFor({ read, plan, refresh }: Caller, now: number): Stale | null {
  // A refresh is not answered with the old value.
  if (refresh || read === null || read.state !== 'entry') return null
  const { entry, at } = read
  if (freshnessOf(entry, plan.grace) === 'expired') return null
  return now < at + Math.min(entry.staleFor, plan.grace + entry.freshFor) ? staleOf(read) : null
}

/** Whether a caller need not wait for a fresh value any longer if there is a stale one. */
export function isSoftOver({ plan, askedAtMs }: Caller, now: number): boolean {
  return plan.softTimeout === 0 || now >= askedAtMs + plan.softTimeout
}

/** Until when a caller waits, by the clock: for its soft timeout if it has a stale value, else for its whole time. */
export function waitsUntil(caller: Caller, now: number): number {
  const { plan, askedAtMs } = caller
  const isSoft = plan.softTimeout > 0 && !isSoftOver(caller, now) && staleFor(caller, now) !== null
  return askedAtMs + (isSoft ? Math.min(plan.softTimeout, plan.waitTimeout) : plan.waitTimeout)
}

function staleOf({ entry, value }: FoundEntry): Stale {
  return { value, age: entry.age, ...entry.validators }
}

/** Whether a read has found a fresh value that this caller may have. */
export function isHit(read: ReadResult, { replaced }: Caller): read is FoundEntry {
  return read.state === 'entry' && read.entry.token !== replaced && freshnessOf(read.entry, 0) === 'fresh'
}

/**
 * The value of the load that a caller has waited for, found again by its token. It counts even if it has expired since
 * the caller began to wait; and because it is still stored under that token, its key was not invalidated, and neither
 * were its tags.
 */
export function awaitedIn(read: ReadResult, { awaited }: Caller, now: number): FoundEntry | null {
  if (awaited === null || read.state !== 'entry') return null
  const { token, outdated, freshFor } = read.entry
  if (token !== awaited.token || outdated === true) return null
  // Negative while it is fresh. It must have been fresh when the caller began to wait.
  return -freshFor >= now - awaited.since + clockTolerance ? null : read
}

/** A caller leaves without an answer. */
export function leave(caller: Caller): void {
  caller.moment?.leave()
  caller.moment = null
  caller.trace?.end('left')
  caller.leaveNested?.()
}
