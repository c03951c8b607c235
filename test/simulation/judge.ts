/**
 * What must hold in every simulated run. What holds on real servers too is in support/invariants.ts; here is what takes
 * virtual time, which is exact, and a schedule, which says what can have gone wrong.
 */
import { within, type Call } from '../support/history.ts'
import { violations } from '../support/invariants.ts'
import { allowancesOf } from './allowances.ts'
import {
  circlesAreTold,
  errorsHaveTheirReason,
  graceEnds,
  keptInvalidationsWin,
  nobodyWaitsForNothing,
  softenedIsStale,
  valuesAtHandAreServed,
} from './answers.ts'
import { factsOf, said, type Facts } from './facts.ts'
import {
  fencesGrow,
  holdersAreTold,
  noLeaseIsLostForNothing,
  noLoadForNothing,
  noLoadOfWhatIsSet,
  nobodyLoadsAloneForNothing,
  placesAreKept,
  nobodyQueuesUnasked,
  nobodyTriesForEver,
  beliefEnds,
} from './loads.ts'
import { limitHolds, permitsComeBack, rateHolds } from './limits.ts'
import type { Run } from './simulate.ts'
import { isCrowded, late } from './surroundings.ts'

/** Everything that is wrong with a run, in words. */
export function judged(run: Run): string[] {
  const facts = factsOf(run)
  return [
    ...violations(facts.history, allowancesOf(run.schedule)),
    ...errorsHaveTheirReason(facts),
    ...keptInvalidationsWin(facts),
    ...softenedIsStale(facts),
    ...graceEnds(facts),
    ...valuesAtHandAreServed(facts),
    ...circlesAreTold(facts),
    ...nobodyWaitsForNothing(facts),
    ...noLoadForNothing(facts),
    ...noLoadOfWhatIsSet(facts),
    ...noLeaseIsLostForNothing(facts),
    ...nobodyLoadsAloneForNothing(facts),
    ...holdersAreTold(facts),
    ...nobodyTriesForEver(facts),
    ...silenceIsLeftAlone(facts),
    ...placesAreKept(facts),
    ...nobodyQueuesUnasked(facts),
    ...beliefEnds(facts),
    ...fencesGrow(facts),
    ...closingEnds(facts),
    ...limitHolds(facts),
    ...rateHolds(facts),
    ...permitsComeBack(facts),
    ...lastRoundIsNormal(facts),
    ...run.leaks.map((leak) => `7: ${leak}`),
  ]
}

/** 13: closing takes as long as it was given, and a last word to the store; and one about its source. */
function closingEnds({ notes, history, schedule, hit }: Facts): string[] {
  return [...notes.closing].flatMap(([process, { at, timeout, closedAt, error }]) => {
    const took = closedAt - at - within(history.stops(process), at, closedAt)
    const words = schedule.limits === null ? 3 : 4
    const most = timeout + words * (schedule.options.commandTimeout + late)
    const kept = error === 'STORE_UNAVAILABLE' && hit(process, at) && schedule.options.onInvalidateFailure === 'replay'
    return [
      ...(took > most
        ? [`13: process ${process} had not closed ${took.toFixed(1)} ms after it was told to, with ${timeout} ms`]
        : []),
      ...(error !== null && !kept ? [`13: process ${process} failed to close: ${error}`] : []),
    ]
  })
}

/** 12: once a process has found out that the store is silent, it sends nothing but pings, and reports to sources. */
function silenceIsLeftAlone({ sent, schedule, leg }: Facts): string[] {
  const { faults, options } = schedule
  const [fault, ...others] = faults
  if (fault?.what !== 'store away' || fault.how === 'refuse' || others.length > 0) return []
  return [...sent].flatMap(([process, all]) => {
    // Until then, answers may come that were under way when it began.
    const during = all.filter(
      ({ at, command }) =>
        command !== 'ping' && command !== 'permits' && at > fault.at + leg && at < fault.at + fault.lasts,
    )
    const known = (during[0]?.at ?? Infinity) + options.commandTimeout + late
    const more = during.filter(({ at }) => at > known)
    return more.length === 0
      ? []
      : [`12: process ${process} sent ${more.length} commands into a silence that it knew of since ${known.toFixed(1)}`]
  })
}

/** 8: when all is normal, a key that nobody has is loaded once, for all. */
function lastRoundIsNormal({ history, lastRound, schedule }: Facts): string[] {
  if (isCrowded(schedule)) return []
  const keepsAll = schedule.most >= schedule.keys.length
  return schedule.keys.flatMap((key) => {
    // A source that was slow may refuse some of them, as far as its load times so far tell.
    const isRefused = ({ answer }: Call): boolean => schedule.limits !== null && answer?.error === 'OVERLOADED'
    const calls = history.calls.filter((call) => call.key === key && lastRound.has(call.call) && !isRefused(call))
    const loads = [...history.loads.values()].filter((load) => load.key === key && lastRound.has(load.call))
    const values = new Set(calls.map(({ answer }) => (answer?.value as { by?: unknown } | undefined)?.by))
    const leased = loads.length > 0 && loads.every(({ fence }) => fence !== null)
    const made = new Set<unknown>(loads.map(({ load }) => load))
    const shared = [...values].every((value) => made.has(value)) && (loads.length === 1 || !keepsAll)
    const normal = calls.length > 0 && leased && shared
    return normal
      ? []
      : [
          `8: in the end ${calls.length} calls of ${key} made ${loads.length} loads (${loads.map(said).join(', ')}) and got ${[...values].join(', ')}`,
        ]
  })
}
