import type { Fault, LoaderPlan, Schedule } from './schedule.ts'

/** What happens in the same millisecond happens at the same time. */
export const instant = 0.5

/** A timer that came late is made up for one millisecond later. */
export const late = 1.5

/** How long a waiter sleeps at most before it asks again. */
export const longestSleep = 437.5 + 1

/** How long after the last fault all is normal again: a ping that was lost is sent again after five seconds. */
export function healsWithin({ options, faults }: Schedule): number {
  const setBack = faults.some((fault) => fault.what === 'clock set' && fault.by < 0)
  // Then a lease that nobody looks after may outlive the patience of all.
  const patience = setBack ? 31_000 : 0
  return 5_500 + options.leaseTtl + options.hardTimeout + 2 * options.commandTimeout + patience
}

/** How long what a process had may stay with it although it cannot give it back, in milliseconds: a lease, or a permit. */
export function keepsFor({ options, limits }: Schedule): number {
  return limits === null ? options.leaseTtl : Math.max(options.leaseTtl, 4_000)
}

/** When all faults have come to their end. */
export function healedAt({ operations, faults }: Schedule): number {
  const ends = [...operations.map(({ at }) => at), ...faults.map(({ at, lasts }) => at + lasts)]
  return Math.max(0, ...ends) + 1
}

/** What the surroundings of a fleet can lead to. */
export interface Surroundings {
  /** The longest that something is under way in one direction. */
  readonly leg: number
  /** Whether commands may get lost. */
  readonly troubled: boolean
  /** Whether the store forgets leases before their time. */
  readonly forgets: boolean
  /** Whether messages about outcomes may not arrive. */
  readonly deaf: boolean
  /** Whether all commands arrive in the end, and are answered in time. */
  readonly heard: boolean
  /** Whether the store forgets values before their time. */
  readonly evicts: boolean
  /** How long after a fault has healed a lease may be left that nobody looks after. */
  readonly orphaned: (fault: Fault) => number
  /** By how much a lease that nobody looks after lives longer, because the clock of the store was set back. */
  readonly backwards: number
  /** Whether something was done to a process that its callers may still notice at some moment. */
  readonly hit: (process: number, at: number) => boolean
}

export function surroundingsOf(schedule: Schedule): Surroundings {
  const { network, faults, most, keys } = schedule
  const normal = healedAt(schedule) + healsWithin(schedule)
  const { distance, lost, cut, resent, reconnect } = network
  const troubled = lost + cut > 0
  const away = faults.some(({ what }) => what === 'store away')
  const hit = faults.flatMap((fault) => (fault.what === 'cut off' || fault.what === 'stopped' ? [fault.process] : []))
  const forgets = faults.some(({ what }) => what === 'store wiped' || what === 'lease evicted' || what === 'clock set')
  const backwards = faults.reduce((sum, fault) => sum + (fault.what === 'clock set' ? Math.max(0, -fault.by) : 0), 0)
  return {
    leg: 5 * distance + (resent > 0 ? reconnect : 0),
    troubled,
    forgets,
    deaf: !network.pushed || network.lostMessages > 0,
    heard: !troubled && !away && hit.length === 0,
    evicts: forgets || most < keys.length,
    backwards,
    orphaned: (fault) => {
      const orphans = fault.what === 'killed' || ('how' in fault && fault.how !== 'stall')
      return orphans ? keepsFor(schedule) + backwards : 0
    },
    hit: (process, at) => at < normal && (troubled || away || hit.includes(process)),
  }
}

/** Whether so many keys are asked for that some loads are refused by their source. */
export function isCrowded({ limits, keys }: Schedule): boolean {
  return limits !== null && limits.maxQueued < keys.length
}

/** Whether a loader, or one that it brings along, ends like this. */
export function some(loader: LoaderPlan, ends: LoaderPlan['ends']): boolean {
  return loader.ends === ends || (loader.nested !== undefined && some(loader.nested.loader, ends))
}

/** Whether a loader, or one within it, may bring what is not stored, which each loads for itself. */
export function mayBeUnstored(loader: LoaderPlan, { options }: Schedule): boolean {
  // A leader that is too slow lets everybody lead.
  const isTooSlow = loader.leads === true && (loader.ends === 'hang' || loader.takes >= options.hardTimeout)
  return isTooSlow || some(loader, 'pass') || (some(loader, 'unfit') && options.unstorable === 'pass')
}

/** Whether loaders of this schedule may wait for each other in a circle. */
export function circles({ operations }: Schedule): boolean {
  const edges = new Set<string>()
  const note = (key: string, { nested }: LoaderPlan): void => {
    if (nested === undefined) return
    edges.add(`${key} ${nested.key}`)
    note(nested.key, nested.loader)
  }
  for (const operation of operations) if (operation.what === 'ask') note(operation.key, operation.loader)
  // Keys are asked for in their order, unless circles are meant.
  return [...edges].some((edge) => edge.slice(0, 1) >= edge.slice(-1))
}
