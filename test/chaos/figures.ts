import { ghostsOf } from '../support/ghosts.ts'
import { makerOf, type Call, type History, type Load } from '../support/history.ts'
import { extraLoads } from '../support/invariants.ts'

/** What a history comes to in numbers. */
export interface Figures {
  readonly calls: number
  /** How many got a value, and how many each error. */
  readonly answers: Readonly<Record<string, number>>
  readonly loads: number
  /** Those without a lease; what must not be stored aside. */
  readonly alone: number
  /** Those that began while another load of the key ran anywhere, and no write had voided it. */
  readonly extra: number
  readonly writes: number
  /** The longest that a caller waited, in milliseconds, less the time for which its process stood still. */
  readonly slowest: number
  /** How long after the end of the last fault a caller got an error, or a load ran without a lease; 0 if none did. */
  readonly normalAfter: number
  /** How many leases were there for long after their load had ended, and no fault was to blame. */
  readonly ghosts: number
}

/** @param since counts only the calls that have ended, and the loads and writes that have begun, from then on */
export function figuresOf(history: History, since: number = -Infinity): Figures {
  const loads = [...history.loads.values()].filter(({ at }) => at >= since)
  const calls = history.calls.filter(({ at, answer }) => (answer?.at ?? at) >= since)
  const answers: Record<string, number> = {}
  for (const { answer } of calls) {
    const told = answer === undefined ? 'no answer' : (answer.error ?? 'value')
    answers[told] = (answers[told] ?? 0) + 1
  }
  return {
    calls: calls.length,
    answers,
    loads: loads.length,
    alone: history.alone().filter(({ at }) => at >= since).length,
    extra: extraLoads(history).filter(({ at }) => at >= since).length,
    writes: [...history.writes.values()].filter(({ at }) => at >= since).length,
    slowest: calls.reduce((most, call) => Math.max(most, waited(history, call)), 0),
    normalAfter: normalAfter(history, since),
    ghosts: ghostsOf(history).filter(({ at }) => at >= since).length,
  }
}

/** Several histories' figures as one. */
export function summed(all: readonly Figures[]): Figures {
  const sum = (of: (figures: Figures) => number): number => all.reduce((total, figures) => total + of(figures), 0)
  const most = (of: (figures: Figures) => number): number =>
    all.reduce((greatest, figures) => Math.max(greatest, of(figures)), 0)
  const told = new Set(all.flatMap(({ answers }) => Object.keys(answers)))
  return {
    calls: sum(({ calls }) => calls),
    answers: Object.fromEntries([...told].map((each) => [each, sum(({ answers }) => answers[each] ?? 0)])),
    loads: sum(({ loads }) => loads),
    alone: sum(({ alone }) => alone),
    extra: sum(({ extra }) => extra),
    writes: sum(({ writes }) => writes),
    slowest: most(({ slowest }) => slowest),
    normalAfter: most((figures) => figures.normalAfter),
    ghosts: sum(({ ghosts }) => ghosts),
  }
}

/** A load that ended before its time, and how long its key was without one after that although it was asked for. */
export interface Gap {
  readonly load: Load
  readonly ms: number
  /** The process that loaded or set the key next. */
  readonly next: number
}

/** The gaps after loads that died with their process. */
export function gapsAfterDeath(history: History): Gap[] {
  return gaps(history, ({ process }) => history.killedAt(process))
}

/**
 * The gaps after loads that were given up when their cache closed. A process that still runs a voided load of the key
 * waits for it for 250 ms before it loads again (docs/protocol.md, "A storm of invalidations"): that is no gap.
 */
export function gapsAfterClose(history: History): Gap[] {
  const all = gaps(history, ({ lostAt, lostFor }) => (lostFor === 'CLOSED' ? lostAt : Infinity))
  const loads = [...history.loads.values()]
  return all.filter(
    ({ load: { key, lostAt }, next }) =>
      !loads.some(
        (other) => other.process === next && other.key === key && other.lostAt < lostAt && other.loadedAt > lostAt,
      ),
  )
}

function gaps(history: History, endOf: (load: Load) => number): Gap[] {
  const loads = [...history.loads.values()]
  const sets = [...history.writes.values()].filter(({ kind }) => kind === 'set')
  return loads.flatMap((load) => {
    const end = endOf(load)
    if (end === Infinity || load.at > end || load.loadedAt < end || load.fence === null) return []
    // A process that is killed lives a moment longer than is noted: its fill may be the last thing it sends.
    if (history.calls.some((call) => makerOf(call) === load.load)) return []
    const [next] = [...loads, ...sets]
      .filter(({ key, at }) => key === load.key && at > end)
      .toSorted((one, other) => one.at - other.at)
    const waiting = history.calls.find(
      ({ key, process, answer }) => key === load.key && process !== load.process && (answer?.at ?? Infinity) > end,
    )
    if (next === undefined || waiting === undefined) return []
    const from = Math.max(end, waiting.at)
    return [{ load, ms: next.at - from - history.stood(waiting.process, from, next.at), next: next.process }]
  })
}

/** Those that are longer than they may be, in words. */
export function tooLong(all: readonly Gap[], most: number): string[] {
  const long = all.filter(({ ms }) => ms > most)
  return long.map(
    ({ load, ms }) => `${load.key} was without a load for ${ms.toFixed(0)} ms after the end of ${load.load}`,
  )
}

/** How many loads with a lease ended while a fault lasted. */
export function endedMeanwhile(history: History): number {
  const faults = history.faults()
  const ended = [...history.loads.values()].filter(({ fence }) => fence !== null).map(({ loadedAt }) => loadedAt)
  return ended.filter((at) => faults.some(({ from, to }) => from < at && at < to)).length
}

/** How many callers were told of the end of a load elsewhere so many milliseconds after it, or later. */
export function toldLate(history: History, ms: number): number {
  return history.calls.filter((call) => {
    const { at, process, answer } = call
    const load = history.loads.get(makerOf(call))
    if (answer === undefined || load === undefined || load.process === process) return false
    return at < load.loadedAt && answer.at > load.loadedAt + ms
  }).length
}

/** That there were extra loads, in words, where there must be none. */
export function tooMany({ extra }: Figures): string[] {
  return extra > 0 ? [`${extra} loads were too many`] : []
}

/** That loads lost their lease, in words, where none may. */
export function lostLeases(heard: (event: string) => number): string[] {
  const lost = heard('refused') + heard('lost')
  return lost > 0 ? [`${lost} loads lost their lease`] : []
}

/** Figures in one line. */
export function shownFigures(figures: Figures): string {
  const { calls, answers, loads, alone, extra, slowest, normalAfter: after, ghosts } = figures
  const errors = Object.entries(answers).filter(([told]) => told !== 'value')
  const told = errors.map(([code, count]) => `${count} ${code}`).join(', ') || 'no errors'
  return (
    `${calls} calls (${told}), ${loads} loads (${alone} without a lease, ${extra} extra), ` +
    `slowest ${slowest.toFixed(0)} ms, normal after ${after.toFixed(0)} ms, ${ghosts} ghosts`
  )
}

function waited(history: History, { process, at, answer }: Call): number {
  const end = answer?.at ?? history.end
  return end - at - history.stood(process, at, end)
}

/** Each sign of trouble after the end of a fault and before the next one is counted from that end. */
function normalAfter(history: History, since: number): number {
  const faults = history.faults().filter(({ to }) => to >= since)
  const errors = history.calls.flatMap(({ answer }) =>
    answer?.error === undefined || answer.error === 'LOAD_FAILED' ? [] : [answer.at],
  )
  const signs = [...errors, ...history.alone().map(({ at }) => at)]
  return faults.reduce((longest, { to }) => {
    const next = faults.reduce((first, { from }) => (from > to ? Math.min(first, from) : first), Infinity)
    return signs.reduce((most, at) => (at > to && at < next ? Math.max(most, at - to) : most), longest)
  }, 0)
}
