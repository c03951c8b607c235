import { endOfBelief, joined, makerOf, within, type History } from '../support/history.ts'
import { isBridged, takesEffectBy } from '../support/invariants.ts'
import { said, voidedInARow, type Facts } from './facts.ts'
import { circles, healedAt, instant, keepsFor, late, longestSleep } from './surroundings.ts'

/** 4: each error has its reason, and comes when it must. */
export function errorsHaveTheirReason({ history, notes, schedule, hit, heard, backwards }: Facts): string[] {
  const { options } = schedule
  return history.calls.flatMap((call) => {
    const { answer, key, process } = call
    const error = answer?.error
    const asked = notes.asked.get(call.call)
    if (answer === undefined || error === undefined || asked === undefined) return []
    const took = answer.at - call.at
    const stood = within(history.stops(process), call.at, answer.at)
    const closing = notes.closing.get(process)
    const loader = history.loads.get(asked.by ?? '')
    // A loader that may end may ask for what it needs until then.
    const refused = loader === undefined || endOfBelief(history, loader) < call.at
    const nested = loader !== undefined && endOfBelief(history, loader) >= answer.at
    const loads = [...history.loads.values()].filter((load) => load.key === key && load.at < answer.at)
    const reasons: Record<string, () => boolean> = {
      LOAD_FAILED: () => true,
      NOTHING: () => asked.peek,
      LEADS: () => [...history.loads.values()].some((load) => load.call === call.call),
      LEFT: () => asked.leaves !== null && took >= asked.leaves - instant && took <= asked.leaves + stood + instant,
      // A caller who has all the time in the world must get more than that; a loader waits for another process for half of
      // its time, and then loads, once what its own process has under way has ended, if that was voided, too.
      WAIT_TIMEOUT: () =>
        took >= call.within - instant &&
        call.within <= Math.max(1_000, backwards) &&
        (!nested || !heard || loads.some((load) => load.process === process && load.loadedAt > call.at)),
      LOAD_TIMEOUT: () => loads.some(({ lostFor }) => lostFor === 'LOAD_TIMEOUT'),
      VALUE_NOT_SERIALIZABLE: () => loads.some(({ load }) => notes.loading.get(load)?.plan.ends === 'unfit'),
      CIRCULAR_LOAD: () => circles(schedule),
      STORE_UNAVAILABLE: () => hit(process, answer.at) && (asked.peek || options.onStoreFailure === 'throw'),
      OVERLOADED: () =>
        schedule.limits !== null || (hit(process, answer.at) && (options.maxQueuedLoads ?? 1_000) < 1_000),
      CLOSED: () =>
        closing !== undefined &&
        closing.at < answer.at &&
        ((refused && call.at > closing.at) || asked.peek || answer.at >= closing.at + closing.timeout - instant),
    }
    return reasons[error]?.() === true
      ? []
      : [`4: ${said(call)} got ${error} after ${took.toFixed(1)} ms, for no reason`]
  })
}

/** 3: an invalidation that is kept holds in its own process at once, and in the others when all is normal again. */
export function keptInvalidationsWin({ history, notes, settledAt }: Facts): string[] {
  const kept = [...history.writes.values()].filter(({ error, kind }) => error === 'KEPT' && kind !== 'expire')
  return history.calls.flatMap((call) => {
    const asOf = madeAsOf(history, makerOf(call)) ?? Infinity
    const older = kept.filter(({ key, process, at, writtenAt }) => {
      // Whoever closed in the meantime has said that it could not.
      const lost = history.killedAt(process) < Infinity || notes.closing.get(process)?.error != null
      const holds = process === call.process ? writtenAt < call.at : settledAt < call.at && !lost
      return key === call.key && holds && asOf < at
    })
    return older.map(
      (write) => `3: ${said(call)} got an answer of ${asOf.toFixed(1)}, older than ${said(write)}, which was kept`,
    )
  })
}

/** 3: once a soft invalidation has resolved, what is from before it is stale: served within its grace, and no longer. */
export function softenedIsStale({ history, notes, schedule, leg }: Facts): string[] {
  // A grace lasts longer where the clock is set back.
  if (schedule.faults.some(({ what }) => what === 'clock set')) return []
  const { options } = schedule
  const soft = [...history.writes.values()].filter(({ kind, error }) => kind === 'expire' && error === undefined)
  // Of a tag only the last soft invalidation is known: each begins the grace anew.
  const isByTag = schedule.operations.some((operation) => operation.what === 'invalidate' && operation.by === 'tag')
  return history.calls.flatMap((call) => {
    const { answer, key } = call
    const by = makerOf(call)
    const load = history.loads.get(by)
    const asOf = madeAsOf(history, by)
    if (answer === undefined || answer.error !== undefined || asOf === undefined) return []
    const asked = Number(notes.asked.get(call.call)?.options.grace ?? options.grace)
    const grace = Math.min((load === undefined ? notes.setting : notes.loading).get(by)?.grace ?? 0, asked)
    const bridged = load !== undefined && isBridged(history, call, load, options.bridge)
    return soft
      .filter((write) => write.key === key && write.writtenAt < call.at && asOf < write.at)
      .filter((write) => !bridged || write.process === call.process)
      .flatMap((write) => {
        const stood = within(history.stops(call.process), call.at, answer.at)
        const begins = soft.filter((each) => each === write || (isByTag && each.key === key && each.at < answer.at))
        const late = answer.at - stood - (Math.max(...begins.map(({ writtenAt }) => writtenAt)) + grace)
        // Without a grace it is missing, at once; else it may have been read within its grace, and take its way.
        if (late <= (grace > 0 ? leg + instant : 0)) return []
        return [
          `3: ${said(call)} got an answer of ${asOf.toFixed(1)}, and ${said(write)} has left it ${grace} ms of grace`,
        ]
      })
  })
}

/** No value is served beyond its ttl and grace, except to those who waited for it. */
export function graceEnds({ history, notes, schedule, troubled, deaf, leg }: Facts): string[] {
  if (troubled || schedule.faults.length > 0) return []
  const { options } = schedule
  return history.calls.flatMap((call) => {
    const { answer, key } = call
    const by = makerOf(call)
    const load = history.loads.get(by)
    const set = history.writes.get(by)
    const asked = notes.asked.get(call.call)
    if (answer === undefined || answer.error !== undefined || asked === undefined) return []
    if (load === undefined && set === undefined) return []
    const writer = load === undefined ? notes.setting.get(by) : notes.loading.get(by)
    const writtenBy = load === undefined ? (set?.writtenAt ?? Infinity) : load.loadedAt + leg
    const grace = Math.min(writer?.grace ?? 0, Number(asked.options.grace ?? options.grace))
    const until = writtenBy + (writer?.ttl ?? 0) + grace + 4 * leg + (deaf ? longestSleep : 0) + instant
    if (call.at <= writtenBy || answer.at <= until) return []
    return [
      `grace: ${said(call)} got a value of ${key} by ${by} at ${answer.at.toFixed(1)}, ${(answer.at - until).toFixed(1)} ms after its end`,
    ]
  })
}

/** 4: whoever is given a value that had been there all along has not waited for it longer than it wanted to. */
export function valuesAtHandAreServed({ history, notes, schedule, troubled, deaf, leg }: Facts): string[] {
  if (troubled || schedule.faults.length > 0) return []
  const { options } = schedule
  const writes = [...history.writes.values()]
  return history.calls.flatMap((call) => {
    const { answer, at, key } = call
    const load = history.loads.get(makerOf(call))
    const asked = notes.asked.get(call.call)
    if (answer === undefined || answer.error !== undefined || load === undefined || asked === undefined) return []
    const there = load.fence !== null && load.loadedAt + leg + instant < at
    const written = writes.some((write) => write.key === key && write.at < answer.at && write.writtenAt > load.at)
    // A load that is void is waited for by those of its process, until they hear of it.
    const older = [...history.loads.values()].some(
      (other) =>
        other.key === key && other.process === call.process && other.at < load.at && endOfBelief(history, other) > at,
    )
    const soft = Math.max(0, Number(asked.options.softTimeout ?? options.softTimeout))
    const longest = soft + 4 * leg + (deaf ? longestSleep : 0) + instant
    if (!there || written || older || answer.at - at <= longest) return []
    return [`4: ${said(call)} waited ${(answer.at - at).toFixed(1)} ms for the value of ${said(load)}, which was there`]
  })
}

/** 9: a loader that asks for what waits for it is told so at once. */
export function circlesAreTold({ history, notes, schedule, leg, hit }: Facts): string[] {
  return history.calls.flatMap((call) => {
    const { answer, at, process } = call
    // It may look first whether there is a value.
    const most = 2 * leg + (hit(process, at) ? schedule.options.commandTimeout + late : 0) + instant
    const ancestors = new Set<string>()
    for (let by = notes.asked.get(call.call)?.by; by != null;) {
      const load = history.loads.get(by)
      // One that was given up has nobody waiting for it any more.
      if (load === undefined || endOfBelief(history, load) < at + most) break
      ancestors.add(load.key)
      by = notes.asked.get(load.call)?.by ?? null
    }
    if (!ancestors.has(call.key) || answer === undefined) return []
    const took = answer.at - at - within(history.stops(process), at, answer.at)
    return took <= most ? [] : [`9: ${said(call)} closed a circle, and was answered after ${took.toFixed(1)} ms`]
  })
}

/** For how long a lease may have been held before its load began, because the key was invalidated again and again. */
function pauses(facts: Facts, key: string, until: number): number {
  let most = 0
  for (let round = 1; round <= voidedInARow(facts, key, until); round++) {
    // A load that was voided is waited for.
    most += 250 + (round < 2 ? 0 : 1.25 * Math.min(320, 10 * 2 ** (round - 2)))
  }
  return most
}

/** 4: nobody waits while nobody loads, for longer than the ways are and a waiter sleeps. */
export function nobodyWaitsForNothing(facts: Facts): string[] {
  const { history, notes, schedule, leg, troubled, deaf, orphaned, backwards, hit } = facts
  const { options, faults } = schedule
  const limited = schedule.limits !== null
  const calm = !troubled && faults.length === 0
  const round = 6 * leg + (deaf || !calm ? longestSleep : 0) + (calm ? 0 : 2 * options.commandTimeout) + instant
  const breaks = faults.map((fault) => ({ from: fault.at, to: fault.at + fault.lasts + orphaned(fault) }))
  // A process that closes while it cannot be heard leaves its leases, and one whose loads go on their permits.
  for (const [process, { at, closedAt }] of notes.closing) {
    if (hit(process, at) || limited) breaks.push({ from: at, to: closedAt + keepsFor(schedule) })
  }
  if (troubled) breaks.push({ from: 0, to: healedAt(schedule) + keepsFor(schedule) + backwards })
  const loads = [...history.loads.values()]
  return history.calls.flatMap((call) => {
    const { answer, at, key, process } = call
    if (answer === undefined || notes.asked.get(call.call)?.peek) return []
    const until = answer.at
    // While it cannot have a lease it may wait for a place; and others for a lease of a process that cannot be heard.
    const queues = hit(process, at) && (options.maxQueuedLoads ?? 1_000) > 0
    // All may wait for loads of the same source, which hold their permits until they settle, and count for the rate.
    const per = 1.1 * (schedule.limits?.rate?.per ?? 0)
    const watched = loads.filter(
      (load) => load.at < until && (limited || load.key === key || (queues && load.process === process)),
    )
    const running = watched.map((load) => ({
      from: load.at,
      to: limited
        ? Math.max(load.at + per, Math.min(load.loadedAt, load.at + 2 * options.hardTimeout))
        : endOfBelief(history, load),
    }))
    const idle = until - at - within(joined([...running, ...history.stops(process), ...breaks]), at, until)
    // The permit of each load that ends goes to another process.
    const events = watched.filter((load) => (limited || load.key === key) && endOfBelief(history, load) > at).length
    const writes = [...history.writes.values()].filter(
      (write) => write.key === key && write.at < until && write.writtenAt > at,
    )
    const allowed = (2 + events + writes.length) * round + pauses(facts, key, until)
    if (idle <= allowed) return []
    return [
      `4: ${said(call)} waited ${idle.toFixed(1)} of ${(until - at).toFixed(1)} ms while nobody loaded, ` +
        `${allowed.toFixed(1)} can be explained`,
    ]
  })
}

/** The last moment as of which a value can have been true. */
function madeAsOf({ loads, writes }: History, by: string): number | undefined {
  const set = writes.get(by)
  return loads.get(by)?.at ?? (set && takesEffectBy(set))
}
