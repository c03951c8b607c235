import { endOfBelief, type Load } from '../support/history.ts'
import { said, type Facts } from './facts.ts'
import type { Notes } from './notes.ts'
import type { Fault, Schedule } from './schedule.ts'
import { instant, late, longestSleep, mayBeUnstored } from './surroundings.ts'

/** 1, 5, 11: what a load has brought is not loaded again as long as it holds. */
export function noLoadForNothing(facts: Facts): string[] {
  const { history, notes, leg, troubled, evicts, schedule } = facts
  if (troubled || evicts || schedule.faults.length > 0) return []
  const leased = [...history.loads.values()].filter(({ fence }) => fence !== null)
  const voided = (key: string, from: number, to: number): boolean =>
    [...history.writes.values()].some((write) => write.key === key && write.at < to && write.writtenAt > from)
  return leased.flatMap((later) => {
    const earlier = leased.filter(
      (load) => load.key === later.key && endOfBelief(history, load) + 2 * leg + instant < later.asked,
    )
    return earlier.flatMap((load) => {
      const end = endOfBelief(history, load)
      const { rule, holds } = outcomeOf(load, notes)
      if (voided(load.key, load.asked, later.at) || later.at >= end + holds - instant) return []
      return [
        `${rule}: ${said(later)} ran, though ${said(load)} had ended at ${end.toFixed(1)} and that held for ${holds} ms`,
      ]
    })
  })
}

/** Whether a load ended with "do not store". */
function isPassed({ load, lostFor }: Load, notes: Notes): boolean {
  const { ends, leads } = notes.loading.get(load)?.plan ?? {}
  return ends === 'pass' || (leads === true && lostFor === 'LOAD_TIMEOUT')
}

/** How long what came of a load holds, and by which rule. */
function outcomeOf({ load, ends, lostAt, loadedAt, lostFor }: Load, notes: Notes): { rule: number; holds: number } {
  const { plan, ttl = 0, failureCooldown = 0 } = notes.loading.get(load) ?? {}
  if (lostFor === 'LOAD_TIMEOUT')
    return plan?.leads === true ? { rule: 11, holds: 1_000 } : { rule: 5, holds: failureCooldown }
  if (lostAt < loadedAt) return { rule: 1, holds: 0 }
  if (ends === 'error' || plan?.ends === 'unfit') return { rule: 5, holds: failureCooldown }
  return ends === 'pass' ? { rule: 11, holds: 1_000 } : { rule: 1, holds: ttl }
}

/** 1: what has been set is not loaded as long as it is fresh. */
export function noLoadOfWhatIsSet({ history, notes, troubled, evicts, schedule }: Facts): string[] {
  if (troubled || evicts || schedule.faults.length > 0) return []
  const writes = [...history.writes.values()]
  const leased = [...history.loads.values()].filter(({ fence }) => fence !== null)
  return leased.flatMap((load) =>
    writes.flatMap((write) => {
      const { ttl = 0 } = notes.setting.get(write.write) ?? {}
      if (write.key !== load.key || write.error !== undefined || write.writtenAt >= load.asked) return []
      const later = writes.some(
        (other) => other !== write && other.key === write.key && other.at < load.at && other.writtenAt > write.at,
      )
      // Callers of the process have been given a newer value that was not stored.
      const newer = [...history.loads.values()].some(
        (other) =>
          other.fence === null &&
          other.key === load.key &&
          other.process === load.process &&
          other.at > write.at &&
          other.at < load.at,
      )
      // It may have been written as soon as it was sent.
      if (later || newer || load.at >= write.at + ttl - instant) return []
      return [`1: ${said(load)} ran, though ${said(write)} held for ${ttl} ms`]
    }),
  )
}

/** 3: a load loses its lease only if something took it. */
export function noLeaseIsLostForNothing({ history, notes, troubled, forgets, hit }: Facts): string[] {
  if (troubled || forgets) return []
  const writes = [...history.writes.values()]
  return [...history.loads.values()].flatMap((load) => {
    if (load.lostFor !== 'LEASE_LOST' || hit(load.process, load.at)) return []
    const taken = writes.some(
      ({ key, at, writtenAt, error }) =>
        key === load.key && at < load.lostAt && (error === undefined ? writtenAt : Infinity) > load.asked,
    )
    return taken || notes.closing.has(load.process)
      ? []
      : [`3: ${said(load)} lost its lease at ${load.lostAt.toFixed(1)}, and nobody had taken it`]
  })
}

/** 3: nobody believes in a lease for longer than its ttl after the last claim or renewal that is known to have succeeded. */
export function beliefEnds({ history, confirmed, schedule }: Facts): string[] {
  const { leaseTtl } = schedule.options
  return [...history.loads.values()].flatMap((load) => {
    const { process, fence, at } = load
    if (fence === null || history.stops(process).length > 0) return []
    const known = (confirmed.get(process) ?? []).filter((each) => each.fence === fence)
    const end = endOfBelief(history, load)
    let until = at
    for (const confirmation of known.toSorted((one, other) => one.at - other.at)) {
      if (confirmation.at <= Math.max(until, at) + instant) until = Math.max(until, confirmation.sentAt + leaseTtl)
    }
    if (end <= until + instant) return []
    return [`3: ${said(load)} believed in its lease until ${end.toFixed(1)}, and could do so until ${until.toFixed(1)}`]
  })
}

/** 1: a load runs without a lease only where there was none to be had. */
export function nobodyLoadsAloneForNothing({ history, notes, hit, schedule }: Facts): string[] {
  const loads = [...history.loads.values()]
  return loads.flatMap((load) => {
    const { key, at, process, asked, fence, within } = load
    // It may have waited for its permit since then.
    const since = schedule.limits === null ? at : asked
    if (fence !== null || hit(process, since)) return []
    const passed = loads.some((other) => other.key === key && other.at < at && isPassed(other, notes))
    const nested = notes.asked.get(load.call)?.by != null
    const writes = [...history.writes.values()].filter(
      (write) => write.key === key && write.at < at && write.writtenAt > asked,
    )
    // A cache that closes gives its leases back, which is a round, too.
    const closed = [...notes.closing.values()].filter((closing) => closing.at < at && closing.closedAt > asked)
    // A write that is sent twice voids twice.
    const voids = writes.length * (schedule.network.resent > 0 ? 2 : 1)
    // It may have joined the wait for a load that had begun before it asked, whose error was not for it.
    const older = loads.some(
      (other) => other.key === key && other.fence !== null && other.at < asked && endOfBelief(history, other) > asked,
    )
    const losses = voids + closed.length + schedule.faults.length + (older ? 1 : 0)
    const isLate = at - asked >= within / 2
    return passed || nested || losses >= (isLate ? 2 : 5) ? [] : [`1: ${said(load)} had no lease, for no reason`]
  })
}

/** 2: after five loads that were voided a caller loads without a lease. */
export function nobodyTriesForEver({ history }: Facts): string[] {
  const leased = new Map<string, number>()
  for (const { fence, call } of history.loads.values()) {
    if (fence !== null) leased.set(call, (leased.get(call) ?? 0) + 1)
  }
  return history.calls.flatMap((call) => {
    const many = leased.get(call.call) ?? 0
    return many <= 5 ? [] : [`2: ${said(call)} made ${many} loads with a lease`]
  })
}

/** 3: the holder of a lease that is gone hears of it: at once from a write, if messages arrive, else when it renews. */
export function holdersAreTold(facts: Facts): string[] {
  const { history, schedule, leg, heard, deaf, backwards } = facts
  const { faults, options } = schedule
  if (!heard) return []
  const forgotten = backwards > 0 ? [] : faults.filter((fault) => forgets(fault, schedule))
  const writes = [...history.writes.values()].filter(({ error, kind }) => {
    // Which loads an invalidation of tags voids is known only when they have ended.
    const told = kind === 'set' || !schedule.tagged
    return told && error === undefined && !deaf && faults.length === 0
  })
  return [...history.loads.values()].flatMap((load) => {
    const { key, at, process, fence } = load
    if (fence === null || history.killedAt(process) < Infinity) return []
    const end = Math.min(load.loadedAt, load.lostAt, history.end)
    const write = writes.find((each) => each.key === key && each.at > at && each.writtenAt + leg + instant < end)
    const loss = forgotten.find(
      (fault) =>
        (fault.what !== 'lease evicted' || fault.key === key) &&
        fault.at > at &&
        fault.at + options.leaseTtl / 3 + 2 * leg + instant < end,
    )
    return [
      ...(write === undefined
        ? []
        : [`3: ${said(load)} went on until ${end.toFixed(1)}, and did not hear of ${said(write)}`]),
      ...(loss === undefined
        ? []
        : [`3: ${said(load)} went on until ${end.toFixed(1)}, though at ${loss.at} ${loss.what}`]),
    ]
  })
}

/** Whether with this fault every lease that there is at this moment is gone, or the one of its key. */
function forgets(fault: Fault, { options }: Schedule): boolean {
  return (
    fault.what === 'store wiped' ||
    fault.what === 'lease evicted' ||
    (fault.what === 'clock set' && fault.by >= options.leaseTtl)
  )
}

/** 12: no more loads run without a lease in a process than may. */
export function placesAreKept({ history, schedule }: Facts): string[] {
  const { maxConcurrentLoads = 64 } = schedule.options
  // Then its source says how many may run.
  if (schedule.limits !== null) return []
  const loaders = schedule.operations.flatMap((operation) => ('loader' in operation ? [operation.loader] : []))
  // Each loads for itself what must not be stored, and a loader does not wait for a place.
  if (loaders.some((loader) => mayBeUnstored(loader, schedule) || loader.nested !== undefined)) return []
  const alone = [...history.loads.values()].filter(({ fence }) => fence === null)
  return alone.flatMap((load) => {
    // How many run when it has begun, itself included.
    const running = alone.filter(
      (other) => other.process === load.process && other.at <= load.at && endOfBelief(history, other) > load.at,
    )
    return running.length <= maxConcurrentLoads ? [] : [`12: ${said(load)} is one of ${running.length} without a lease`]
  })
}

/**
 * 12: while nothing is heard of the store, a load waits for another of its key as long as a command may take, and for a
 * place only where it may queue.
 */
export function nobodyQueuesUnasked({ history, notes, sent, schedule }: Facts): string[] {
  const { maxQueuedLoads, maxConcurrentLoads = 64, commandTimeout, leaseTtl } = schedule.options
  if (schedule.limits !== null || (maxQueuedLoads !== 0 && maxConcurrentLoads < 64)) return []
  const silences = schedule.faults.filter((fault) => fault.what === 'store away' && fault.how !== 'refuse')
  const loads = [...history.loads.values()]
  return loads.flatMap((load) => {
    const { key, process, asked, at, fence } = load
    const silence = silences.find((fault) => fault.at + instant < asked && at < fault.at + fault.lasts)
    if (fence !== null || silence === undefined || history.stops(process).length > 0) return []
    const others = loads.filter(
      (other) =>
        other !== load &&
        other.key === key &&
        other.process === process &&
        other.at < at &&
        endOfBelief(history, other) > asked,
    )
    // One with a lease may go on for as long as that lasts, and two without one are all that there may be.
    if (others.length > 1 || others.some((other) => other.fence !== null)) return []
    // It may have joined a wait for another process, whose end was not heard in the silence, until that asks again.
    // That one may have been granted a lease and not have heard of it, so that it loads nothing.
    const isClaimed = [...sent].some(
      ([other, all]) =>
        other !== process &&
        all.some(({ at: sentAt, command }) => command === 'claim' && sentAt < asked && sentAt > silence.at - leaseTtl),
    )
    const isAwaited = loads.some(
      (other) =>
        other.key === key &&
        other.process !== process &&
        other.fence !== null &&
        other.at < asked &&
        endOfBelief(history, other) > silence.at - late,
    )
    // It may have had to find out itself that the store is away, and have joined a claim that had yet to.
    const longest = (2 + others.length) * (commandTimeout + late) + (isAwaited || isClaimed ? longestSleep : 0)
    // Who has waited for an answer that turns out not to be shared, such as that of a leader that is too slow, loads then.
    const unshared = others.filter((other) => isPassed(other, notes)).map((other) => endOfBelief(history, other))
    return at <= Math.max(asked, ...unshared) + longest
      ? []
      : [`12: ${said(load)} had waited since ${asked.toFixed(1)}, for no place`]
  })
}

/** 14: a later lease has a greater fence. */
export function fencesGrow({ history, schedule }: Facts): string[] {
  if (schedule.faults.some(({ what }) => what === 'store wiped' || what === 'clock set')) return []
  const leased = [...history.loads.values()].filter(({ fence }) => fence !== null)
  return leased.flatMap((later) =>
    leased
      .filter(
        (load) =>
          load.key === later.key &&
          endOfBelief(history, load) < later.asked &&
          BigInt(load.fence ?? 0) >= BigInt(later.fence ?? 0),
      )
      .map((load) => `14: ${said(later)} has fence ${later.fence}, ${said(load)} had ${load.fence}`),
  )
}
