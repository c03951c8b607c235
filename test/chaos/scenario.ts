import type { ConnectOptions } from '../support/clients.ts'
import type { Allowances } from '../support/invariants.ts'
import type { History, Span } from '../support/history.ts'
import type { Figures } from './figures.ts'
import type { Stage } from './stage.ts'
import type { Kind } from './surroundings.ts'
import { client, inForce, usualWork, writes, type Settings } from './settings.ts'
import { unnoticed } from './unnoticed.mjs'
import type { Work } from './work.ts'

/** What a fault may cost. */
export interface Allowed extends Omit<
  Allowances,
  'hit' | 'forgotten' | 'overlap' | 'takenAway' | 'patience' | 'leaseTtl' | 'queues' | 'timed'
> {
  /** As in the allowances; it may follow from the lease ttl that is in force. */
  readonly overlap?: number | ((leaseTtl: number) => number)
}

/**
 * Where Redis forgets a lease, its holder learns of it with the next renewal, every third of a lease, and the answer to
 * that; until then another may have it too.
 */
export function untilRenewal(leaseTtl: number): number {
  return leaseTtl / 3 + 150
}

/**
 * Where a holder cannot ask for its lease, or where the server that it asks is another than the one that gives it to
 * others, it counts on it until its time is over.
 */
export function untilLeaseEnds(leaseTtl: number): number {
  return leaseTtl + 100
}

/** Something that is done to a working fleet, and what must hold all the same. */
export interface Scenario<On extends Kind = Kind> {
  readonly name: string
  /** What servers it is played on. */
  readonly on: On
  /** What happens and what must hold, in a sentence. */
  readonly what: string
  /**
   * Who may notice by an error, a failed write or a load without a lease: nobody, the processes that are the victim in
   * turn, or all. Default all.
   */
  readonly hits?: 'nobody' | 'the victim' | 'all'
  /** What it may cost. By default nothing, and all must be normal soon after it: see `healsWithin`. */
  readonly allowed?: Allowed
  /** Whether Redis may forget what it acknowledged while the fault lasts. Default false. */
  readonly forgets?: boolean
  /** How the fleet works here, as far as it differs from the usual; `quick`: with quick settings, on top of that. */
  readonly work?: Partial<Work>
  readonly quick?: Partial<Work>
  /**
   * Whether the victim reaches several servers through a network of its own, to which the fault is done. Default false:
   * with `natMap`, a cluster client of ioredis does not find the address in a MOVED, and asks nodes by chance until it has
   * read the slots again, which takes seconds on a busy machine.
   */
  readonly network?: boolean
  /** What the client of a process is told besides, by the place of the process. */
  readonly client?: (place: number) => ConnectOptions
  /** Why it is not played with some settings, or with some clients. */
  readonly without?: Partial<Readonly<Record<Settings | 'node-redis', string>>>
  /**
   * Does it to the fleet. Either it takes its time and undoes it, or it returns what undoes it, which is then called after
   * `stage.lasts` milliseconds.
   */
  fault(stage: Stage<On>): Promise<void | (() => void | Promise<void>)>
  /** Brings the servers back into their first state, once the fleet has been seen to work normally. */
  tidy?(stage: Stage<On>): Promise<void>
  /** Whether the fault has been felt at all; if not, the scenario proves nothing, and fails. */
  bites(seen: Seen): boolean
  /** What is wrong besides the invariants, in words. */
  holds?(seen: Seen): string[]
  /** What took too long, in words; asked only where time is judged. */
  holdsInTime?(seen: Seen): string[]
}

/** What was seen of a fleet. */
export interface Seen {
  /** How it worked. */
  readonly work: Work
  readonly history: History
  readonly figures: Figures
  /** How often an event was heard in all processes that lived to the end. */
  readonly heard: (event: string) => number
  /** What the fault itself has counted, by `stage.count`. */
  readonly counted: (what: string) => number
}

/** A fault that was on a fleet: which, who was its victim, and when. */
export interface Inflicted extends Span {
  readonly scenario: Scenario
  readonly victim: number
  /** How the fleet worked. */
  readonly work: Work
}

/** Why a scenario is not played with these settings and the clients of this run; `undefined` if it is. */
export function leftOut({ without = {} }: Pick<Scenario, 'without'>, settings: Settings): string | undefined {
  return without[settings] ?? (client() === 'node-redis' ? without['node-redis'] : undefined)
}

/** How a fleet works in a scenario. */
export function workIn({ work, quick }: Pick<Scenario, 'work' | 'quick'>, settings: Settings): Work {
  return { ...usualWork[settings], ...work, ...(settings === 'quick' ? quick : {}) }
}

/** How soon after a fault all must be normal again, in milliseconds. */
export function healsWithin({ hits, allowed }: Scenario): number {
  return allowed?.healsWithin ?? (hits === 'nobody' ? 500 : 1_500)
}

/** While all is normal nobody waits for more than the slowest load, and the answer to it, in milliseconds. */
function patienceFor(work: Work): number {
  return work.slowTime + 1_000 + queueIn(work)
}

/** How long a load waits for its permit, in milliseconds: all other keys may be loaded before. */
function queueIn({ limit, hotKeys, coldKeys, loadTime: [, longest] }: Work): number {
  return limit > 0 ? ((hotKeys + coldKeys) * longest) / limit : 0
}

/**
 * How long a fill or a read may wait for a processor, in milliseconds: a dozen processes share a few. What is taken for
 * fresh too long by mistake is so by hundreds. The simulation, whose clock stands still meanwhile, allows 25.
 */
const busy = 100

/** A fault on a fleet whose processes wait for a processor, and until when it had consequences. */
export interface Untimed extends Inflicted {
  readonly settledAt: number
}

/** What a fault may cost on a machine that may be busy: the same, in whatever time. */
export function untimedAllowancesFor({ scenario, settledAt, from, ...inflicted }: Untimed): Allowances {
  const { overlap } = scenario.allowed ?? {}
  const allowances = allowancesFor([{ scenario, from, ...inflicted }])
  return {
    ...allowances,
    timed: false,
    overlap: unnoticed,
    takenAway: overlap === undefined ? [] : [{ from, to: settledAt }],
  }
}

/** What several faults together may cost. */
export function allowancesFor(all: readonly Inflicted[]): Allowances {
  const each = all.map(({ scenario: { allowed = {} }, work }) => {
    const { overlap = unnoticed } = allowed
    return { ...allowed, overlap: typeof overlap === 'function' ? overlap(inForce(work).leaseTtl) : overlap }
  })
  const most = (of: (allowed: Allowances) => number | undefined, usual: number): number =>
    each.reduce((greatest, allowed) => Math.max(greatest, of(allowed) ?? usual), usual)
  const hitAll = all.some(({ scenario }) => (scenario.hits ?? 'all') === 'all')
  const hit = all.flatMap(({ scenario, victim }) => (scenario.hits === 'the victim' ? [victim] : []))
  // Writes void loads, and whoever waits for one of these waits for another.
  const steady = all.every(({ work }) => !writes(work))
  const bounded = each.every(({ wakeUp }) => wakeUp !== undefined)
  return {
    ...(hitAll ? {} : { hit }),
    ...(steady ? { patience: all.reduce((most, { work }) => Math.max(most, patienceFor(work)), 0) } : {}),
    ...(bounded ? { wakeUp: most(({ wakeUp }) => wakeUp, 0) } : {}),
    errors: each.flatMap(({ errors = [] }) => errors),
    leaseTtl: Math.min(...all.map(({ work }) => inForce(work).leaseTtl)),
    copies: most(({ copies }) => copies, 0),
    queues: all.reduce((most, { work }) => Math.max(most, 2 * queueIn(work)), 0),
    older: each.some(({ older }) => older),
    overlap: most(({ overlap }) => overlap, unnoticed),
    late: most(({ late }) => late, 1_000),
    pastTime: most(({ pastTime }) => pastTime, busy),
    unleasedAtOnce: most(({ unleasedAtOnce }) => unleasedAtOnce, 2),
    healsWithin: all.reduce((longest, { scenario }) => Math.max(longest, healsWithin(scenario)), 0),
    forgotten: all.flatMap(({ scenario, from, to }) => (scenario.forgets ? [{ from, to }] : [])),
  }
}

/** The fault that nothing reaches the victim, and nothing comes from it. */
export async function cutOff({ victim }: Stage): Promise<() => void> {
  for (const each of victim.way) each.blackHole()
  return () => {
    for (const each of victim.way) each.heal()
  }
}

/** A scenario, with what it is played on known to its fault. */
export function scenario<On extends Kind>(given: Scenario<On>): Scenario {
  return given as unknown as Scenario
}
