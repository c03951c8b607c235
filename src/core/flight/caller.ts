import { currentLoad, type LoadNode } from './circular-load.ts'
import type { Stale } from '../codec/payload.ts'
import { freshnessOf } from '../entry/freshness.ts'
import type { CallPlan } from '../options/call-plans.ts'
import type { Plan } from '../options/plan.ts'
import type { CausalTime, Clock } from '../time/clock.ts'
import { clockTolerance, type Answer } from './answer.ts'
import type { WaitGroup, WaitEnd } from './key-flight.ts'
import type { Loader } from './loader.ts'
import type { FoundEntry, ReadResult } from './reads.ts'

/** The stored value that a load replaces. Its `value` is `null` if it is of no use here. */
export interface Existing {
  readonly token: string
  readonly value: Stale | null
  /** Whether the store may take it for fresh. */
  readonly replace: boolean
}

/** The flights that had no answer for a caller. */
export interface Past {
  readonly flights: number
  /** How many of them were voided. */
  readonly voided: number
  /** The last load that it has waited for in vain, and since when, by the clock. */
  readonly awaited: { readonly token: string; readonly since: number } | null
}

const newcomer: Past = { flights: 0, voided: 0, awaited: null }

/** The call of `begin` behind a caller: its loader is entered only to tell it that it leads. */
export interface Beginning {
  /** Receives the end of each flight that was started for the caller. */
  ended(answer: Answer): void
  /** Its load counts as ended, though it has not said so. */
  overdue(): void
}

/** What some callers want besides a value. */
export interface Wishes {
  /** Of a refresh, which loads even if there is a fresh value: the token of the value that it replaces, once known. */
  readonly refresh: { replaced: string | null } | null
  /** Whether it wants the metadata of its answer, too. */
  readonly facts: boolean
  /** The call for many keys that it is part of. */
  readonly batch: object | null
  /** Set for a caller that may be told to lead. */
  readonly beginning: Beginning | null
}

/** Those of most callers: one object for all, because many callers wait at once. */
export const noWishes: Wishes = { refresh: null, facts: false, batch: null, beginning: null }

/** A caller that has no answer yet: its question, and what it has seen of its key. */
export class Caller {
  readonly key: string
  readonly loader: Loader<unknown>
  wishes: Wishes
  readonly askedAt: CausalTime
  /** By the clock, in milliseconds. */
  readonly askedAtMs: number
  /** The load whose loader is the caller. */
  readonly parent: LoadNode | null = currentLoad()
  /** What it has read last; `null` before. */
  read: ReadResult | null = null
  past: Past = newcomer
  /** The callers of its flight that it waits with. */
  group: WaitGroup | null = null
  /** What to do besides if it leaves its flight without an answer. */
  onLeave: (() => void) | null = null
  /** `missed`: it was counted as a miss. `over`: it has its answer, or has left. */
  state: 'new' | 'missed' | 'over' = 'new'
  /** Shared by all calls with the same options. */
  readonly #call: CallPlan

  constructor(
    key: string,
    loader: Loader<unknown>,
    call: CallPlan,
    { refresh, at, ms }: { readonly refresh: boolean; readonly at: CausalTime; readonly ms: number },
  ) {
    this.key = key
    this.loader = loader
    this.#call = call
    this.wishes = refresh ? { ...noWishes, refresh: { replaced: null } } : noWishes
    this.askedAt = at
    this.askedAtMs = ms
  }

  get plan(): Plan {
    return this.#call.plan
  }

  get refresh(): Wishes['refresh'] {
    return this.wishes.refresh
  }

  get wantsFacts(): boolean {
    return this.wishes.facts
  }

  get beginning(): Beginning | null {
    return this.wishes.beginning
  }

  /** Whether it goes behind all others that wait for its source. */
  get isLow(): boolean {
    return this.plan.priority === 'low'
  }

  /** The tags of the value, as far as the caller knows them. */
  get tags(): readonly string[] {
    return this.#call.tags
  }

  get signal(): AbortSignal | undefined {
    return this.#call.signal
  }

  /** Whether its loader must not be entered any more: its caller has left or was answered, so it has no leader. */
  get cannotLead(): boolean {
    return this.beginning !== null && this.state === 'over'
  }

  /** The value that a load for it would replace; `null` if it has found none. */
  get existing(): Existing | null {
    const { read, plan } = this
    if (read === null || read.state === 'nothing') return null
    const { entry } = read
    const seen = read.state === 'entry' ? freshnessOf(entry, plan.grace) : 'expired'
    if (read.state !== 'entry' || seen === 'expired') return { token: entry.token, value: null, replace: false }
    return { token: entry.token, value: staleOf(read), replace: seen === 'fresh' || entry.outdated === true }
  }

  /** The stale value that it may be served now: until a new load has replaced it. */
  staleAt(now: number): Stale | null {
    const { read, plan } = this
    // A refresh is not answered with the old value.
    if (this.refresh !== null || read === null || read.state !== 'entry') return null
    const { entry, at } = read
    if (freshnessOf(entry, plan.grace) === 'expired') return null
    return now < at + Math.min(entry.staleFor, plan.grace + entry.freshFor) ? staleOf(read) : null
  }

  /** Whether it need not wait for a fresh value any longer if there is a stale one. */
  isSoftOver(now: number): boolean {
    const { softTimeout } = this.plan
    return softTimeout === 0 || now >= this.askedAtMs + softTimeout
  }

  /** When its whole time is over, by the clock. */
  get deadline(): number {
    return this.askedAtMs + this.plan.waitTimeout
  }

  /** Until when it waits, by the clock: for its soft timeout if it has a stale value, else for its whole time. */
  waitsUntil(clock: Clock): number {
    const { softTimeout, waitTimeout } = this.plan
    if (softTimeout === 0 || softTimeout >= waitTimeout) return this.deadline
    const now = clock.now()
    const isSoft = !this.isSoftOver(now) && this.staleAt(now) !== null
    return isSoft ? this.askedAtMs + softTimeout : this.deadline
  }

  /** Whether a read has found a fresh value that it may have. */
  isHit(read: ReadResult): read is FoundEntry {
    return (
      read.state === 'entry' && read.entry.token !== this.refresh?.replaced && freshnessOf(read.entry, 0) === 'fresh'
    )
  }

  /**
   * The value of the load that it has waited for, found again by its token. It counts even if it has expired since the
   * caller began to wait; and because it is still stored under that token, its key was not invalidated, and neither were
   * its tags.
   */
  awaitedIn(read: ReadResult, now: number): FoundEntry | null {
    const { awaited } = this.past
    if (awaited === null || read.state !== 'entry') return null
    const { token, outdated, freshFor } = read.entry
    if (token !== awaited.token || outdated === true) return null
    // Negative while it is fresh. It must have been fresh when the caller began to wait.
    return -freshFor >= now - awaited.since + clockTolerance ? null : read
  }

  /** It leaves its flight without an answer. */
  leave(): void {
    this.group?.leave()
    this.group = null
    this.onLeave?.()
  }
}

/** Callers of one key that read in the same tick and want the same: all but the first of them wait as one. */
export interface Crowd {
  readonly lead: Caller
  size: number
  readonly ended: Promise<CrowdEnd>
}

/** The read of a crowd, and the end of its wait; `null` if the read was enough. */
export interface CrowdEnd {
  readonly read: ReadResult
  readonly wait: { readonly group: WaitGroup | null; readonly end: WaitEnd } | null
}

function staleOf({ entry, value }: FoundEntry): Stale {
  return { value, age: entry.age, ...entry.validators }
}
