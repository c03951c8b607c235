/** What must hold of the source that all loads of a schedule use. */
import { endOfBelief, type Load } from '../support/history.ts'
import { said, voidedInARow, type Facts } from './facts.ts'
import { instant, isCrowded, longestSleep } from './surroundings.ts'

/** 15: no more loads run at a time than the source allows, except for what a fault may cost. */
export function limitHolds(facts: Facts): string[] {
  const { concurrency } = facts.schedule.limits ?? {}
  if (concurrency === undefined) return []
  const uses = usersOf(facts)
  return uses.flatMap(({ load, from }) => {
    const running = uses.filter((use) => use.from <= from && use.to > from)
    const most = concurrency + overshoot(facts, concurrency, running)
    return running.length <= most ? [] : [`15: ${said(load)} was one of ${running.length}, and ${most} may run`]
  })
}

/** By how much a limit may be passed: see "What it does not promise" in docs/sources.md. */
function overshoot(facts: Facts, limit: number, running: readonly Use[]): number {
  const { schedule, troubled } = facts
  const forgotten = schedule.faults.filter(({ what }) => what === 'store wiped' || what === 'clock set').length
  const isSilent = troubled || schedule.faults.some(({ what }) => silences.has(what))
  let most = forgotten * Math.max(limit, schedule.processes)
  if (!isSilent) return most
  for (let process = 1; process <= schedule.processes; process++) {
    const own = running.filter(({ load }) => load.process === process)
    const share = Math.max(0, ...own.map(({ from }) => shareOf(facts, process, from)))
    most += Math.min(own.length, share)
  }
  return most

  function shareOf({ usersKnown }: Facts, process: number, at: number): number {
    const known = (usersKnown.get(process) ?? []).filter((answer) => answer.at <= at + instant)
    // A load may go on with the permit of one that began before the last answers, or that came too late to be heard.
    const recent = known.filter((answer) => answer.at > at - longestSleep)
    const [before = { users: 1 }] = known.slice(0, known.length - recent.length).slice(-1)
    const users = Math.min(before.users, ...recent.map((answer) => answer.users))
    return Math.max(1, Math.floor(limit / users))
  }
}

/** Where processes go on without the store. */
const silences: ReadonlySet<string> = new Set(['cut off', 'stopped', 'store away'])

/** 15: no more loads begin within any time than the rate allows, where nothing is done to the fleet. */
export function rateHolds(facts: Facts): string[] {
  const { schedule, leg } = facts
  const { rate } = schedule.limits ?? {}
  if (rate === undefined || facts.troubled || schedule.faults.length > 0) return []
  const begun = usersOf(facts).map(({ from }) => from)
  // A load begins when its process hears of its permit.
  const per = rate.per - leg - instant
  return begun.flatMap((at, index) => {
    const next = begun[index + rate.loads]
    return next === undefined || next - at >= per
      ? []
      : [`15: ${rate.loads + 1} loads began between ${at.toFixed(1)} and ${next.toFixed(1)}, within ${rate.per} ms`]
  })
}

/** 15: when all is normal, a source is used as far as its limit allows: no permit is lost for good. */
export function permitsComeBack(facts: Facts): string[] {
  const { schedule, settledAt } = facts
  const { concurrency, rate, adaptive } = schedule.limits ?? {}
  if (concurrency === undefined || rate !== undefined || adaptive === true || isCrowded(schedule)) return []
  const uses = usersOf(facts).filter(({ from }) => from > settledAt)
  const running = Math.max(0, ...uses.map(({ from }) => uses.filter((use) => use.from <= from && use.to > from).length))
  // A load that pauses, because its key was invalidated again and again, begins later than the others.
  const prompt = schedule.keys.filter((key) => voidedInARow(facts, key, settledAt) < 2)
  const wanted = Math.min(concurrency, prompt.length)
  return running >= wanted ? [] : [`15: in the end ${running} loads ran at a time, and ${wanted} might have`]
}

interface Use {
  readonly load: Load
  readonly from: number
  readonly to: number
}

/** The times in which loads use the source, in the order in which they begin. */
function usersOf({ history, notes, schedule }: Facts): Use[] {
  const loads = [...history.loads.values()]
  return loads
    .filter((load) => {
      // It runs under the permit of a loader that waits for it.
      const brought = history.calls.filter(
        ({ process, key, at, answer }) =>
          process === load.process && key === load.key && at <= load.at && (answer?.at ?? Infinity) >= load.at,
      )
      return !brought.some(({ call }) => {
        const by = history.loads.get(notes.asked.get(call)?.by ?? '')
        return by !== undefined && endOfBelief(history, by) >= load.at
      })
    })
    .map((load) => {
      // It is held until the loader settles, or for twice its hard timeout.
      const longest = load.at + 2 * schedule.options.hardTimeout - instant
      return { load, from: load.at, to: Math.min(load.loadedAt, longest, history.killedAt(load.process), history.end) }
    })
    .toSorted((one, other) => one.from - other.from)
}
