/**
 * What must hold in every history, whatever was done to the fleet meanwhile. Each invariant is a function from a history
 * to what breaks it, in words. Invariants 7 (nothing leaks) and, on real servers, the order of Redis's own clock are not
 * in a history; those who run the fleet look for themselves.
 */
import { ghostsOf } from './ghosts.ts'
import {
  endOfBelief,
  joined,
  player,
  within,
  type Call,
  type History,
  type Load,
  type Made,
  type Span,
  type Write,
} from './history.ts'

/** What a fault may cost, and no more. Everything is forbidden that is not allowed here. */
export interface Allowances {
  /** Codes of errors that callers may get besides LOAD_FAILED of a load that threw, and when. Default none. */
  readonly errors?: readonly string[]
  /**
   * The processes that something is done to: only their callers may get such errors, only their writes may fail, and only
   * they may load without a lease. Default all.
   */
  readonly hit?: readonly number[]
  /**
   * How long two loads of a key may both believe that they have the lease, in milliseconds: where Redis forgets leases,
   * or gives them to others although the holder lives, a holder learns of it with its next renewal. Default 0.
   */
  readonly overlap?: number
  /**
   * When Redis forgets leases, or gives them to others although the holder lives, if nobody says how soon a holder learns
   * of it: a load that ran then may be beside any other. Default never.
   */
  readonly takenAway?: readonly Span[]
  /**
   * When writes that Redis acknowledged may be forgotten: only asynchronous replication, or a restart from an old
   * snapshot, does that. Default never.
   */
  readonly forgotten?: readonly Span[]
  /**
   * How long a process that something is done to, and that cannot ask the store, may serve its copies of what others have
   * changed, in milliseconds. Default 0.
   */
  readonly copies?: number
  /**
   * For how long a process that cannot ask the store gives its callers what it has loaded itself, in milliseconds, though
   * another process may have changed it: the option `bridge`. Default 1 000, as that.
   */
  readonly bridge?: number
  /**
   * For how long after its time a value may be taken for fresh, in milliseconds: where the clock of Redis is set, until a
   * process learns of it. Default 25.
   */
  readonly pastTime?: number
  /** Whether a caller may see an older value after a newer one: where Redis cannot be heard or forgets. Default false. */
  readonly older?: boolean
  /** How long after its own deadline a caller may be answered, in milliseconds: a busy machine. Default 1 000. */
  readonly late?: number
  /**
   * How long after the end of a load whoever waits for it may wait on, in milliseconds, if the time is bounded at all:
   * lost wake-ups cost the re-ask interval. Default unbounded.
   */
  readonly wakeUp?: number
  /** How soon after a fault has healed all is normal again, in milliseconds. Default not judged. */
  readonly healsWithin?: number
  /** The longest that anybody waits while all is normal, in milliseconds. Default not judged. */
  readonly patience?: number
  /**
   * How long a lease lives without its holder, in milliseconds: a load whose process stands still for two thirds of that,
   * as renewals come every third, may lose it. Default: none does.
   */
  readonly leaseTtl?: number
  /** How long a lease may wait for the permit of its load, in milliseconds. Default 0. */
  readonly queues?: number
  /** The most loads of one key that may run at once in one process, without a lease and after "do not store" aside. */
  readonly unleasedAtOnce?: number
  /**
   * Whether the promises about time are judged: how soon callers are answered, all heals and a lease without a load is gone,
   * and when a value expires. Where a machine is so busy that processes wait for a processor, its clock says nothing about
   * them; all others hold there, too, and everybody is answered in the end. Default true.
   */
  readonly timed?: boolean
}

/** Everything that is wrong with a history, in words. */
export function violations(history: History, allowed: Allowances = {}): string[] {
  const { timed = true } = allowed
  return [
    ...oneLoad(history, allowed),
    ...noLateWrite(history),
    ...invalidationWins(history, allowed),
    ...everybodyIsAnswered(history, allowed),
    ...writesEnd(history, allowed),
    ...othersNoticeNothing(history, allowed),
    ...nobodyElsesValue(history),
    ...neverOlder(history, allowed),
    ...(timed ? heals(history, allowed) : []),
    ...(timed ? noLeaseWithoutLoad(history, allowed) : []),
    ...(timed ? nothingPastItsTime(history, allowed) : []),
  ]
}

/** 1: never two loads of a key that both believe they have the lease, unless a write has voided one of them. */
export function oneLoad(
  history: History,
  { overlap = 0, takenAway = [], unleasedAtOnce = 2 }: Allowances = {},
): string[] {
  const wrong: string[] = []
  const writes = byKey([...history.writes.values()])
  for (const [key, loads] of byKey([...history.loads.values()])) {
    const leased = loads.filter((load) => load.fence !== null)
    const ends = new Map(leased.map((load) => [load, endOfBelief(history, load)]))
    for (const [index, first] of leased.entries()) {
      const end = ends.get(first) as number
      for (const second of leased.slice(index + 1)) {
        if (second.at >= end) break
        const until = Math.min(end, ends.get(second) as number)
        // Either may have lost its lease, which is older than its load: that may have waited for its source.
        const asked = Math.min(first.asked, second.asked)
        if (takenAway.some(({ from, to }) => asked <= to && from <= until)) continue
        // Whoever stands still believes nothing; when it goes on it must find out before it does anything else.
        const stood = history.stood(first.process, second.at, until) + history.stood(second.process, second.at, until)
        const both = until - second.at - stood
        if (both <= overlap || writes.get(key)?.some((write) => mayVoid(write, first, second))) continue
        wrong.push(`1: ${said(first)} and ${said(second)} both had the lease for ${both.toFixed(1)} ms`)
      }
    }
  }
  for (const [key, alone] of byKey(history.alone())) {
    for (const [process, own] of grouped(alone, (load) => load.process)) {
      const { most, last } = mostAtOnce(history, own)
      if (most > unleasedAtOnce)
        wrong.push(`1: process ${process} ran ${most} loads of ${key} at once without a lease: the last was ${last}`)
    }
  }
  return wrong
}

/** 2: the value of a load that was told it had lost its lease reaches nobody but those who asked before it began. */
export function noLateWrite(history: History): string[] {
  return answered(history).flatMap(({ call, load }) => {
    const lost =
      load !== undefined && load.fence !== null && load.lostFor === 'LEASE_LOST' && load.lostAt < load.loadedAt
    if (!lost || (call.process === load.process && call.at < load.at)) return []
    return [`2: ${said(call)} got the value of ${said(load)}, which had lost its lease at ${moment(load.lostAt)}`]
  })
}

/**
 * 3: once a write has resolved, no call that begins later gets a value, or the error of a load, from before it. After a
 * soft invalidation that holds for errors; values are stale then, and judged by those who know their grace.
 */
export function invalidationWins(
  history: History,
  { forgotten = [], copies = 0, bridge, hit }: Allowances = {},
): string[] {
  const wrong: string[] = []
  const writes = byKey([...history.writes.values()].filter(({ error }) => error === undefined))
  const hard = (all: readonly Write[]): Write[] => all.filter(({ kind }) => kind !== 'expire')
  const ofValues = new Map([...writes].map(([key, of]) => [key, floorsOf(hard(of), forgotten)]))
  const ofErrors = new Map([...writes].map(([key, of]) => [key, floorsOf(of, forgotten)]))
  for (const { call, load, set } of [...answered(history), ...failed(history)]) {
    const floors = call.answer?.error === undefined ? ofValues : ofErrors
    const floor = floorAt(floors.get(call.key) ?? [], call.at)
    if (floor === undefined) continue
    // A load reads its source once it has begun; a set takes effect at some moment before it resolves.
    const asOf = load?.at ?? takesEffectBy(set as Write)
    if (asOf > floor.at) continue
    if ((hit === undefined || hit.includes(call.process)) && call.at - floor.writtenAt < copies) continue
    if (floor.process !== call.process && load !== undefined && isBridged(history, call, load, bridge)) continue
    wrong.push(
      `3: ${said(call)} got an answer of ${moment(asOf)} (${said((load ?? set) as Load | Write)}), ` +
        `older than ${said(floor)}, which had resolved at ${moment(floor.writtenAt)}`,
    )
  }
  return wrong
}

/** Whether a caller may have the value of a load because its process could not ask the store, as the option `bridge` says. */
export function isBridged(history: History, call: Call, load: Load, bridge = 1_000): boolean {
  const since = call.at - load.loadedAt - history.stood(call.process, load.loadedAt, call.at)
  return load.fence === null && load.process === call.process && since <= bridge
}

/** 4: everybody is answered in time, with a value or an error that can be expected; nobody sleeps through an outcome. */
export function everybodyIsAnswered(
  history: History,
  { errors = [], late = 1_000, wakeUp, timed = true }: Allowances = {},
): string[] {
  const wrong: string[] = []
  const most = (call: Call): number => (timed ? call.within + late : Infinity)
  const failures = firstFailures(history)
  for (const call of history.calls) {
    const { answer } = call
    const end = answer?.at ?? history.end
    const took = end - call.at - history.stood(call.process, call.at, end)
    if (took > most(call)) {
      const until = answer === undefined ? 'had no answer' : 'was answered only'
      wrong.push(`4: ${said(call)} ${until} after ${took.toFixed(0)} ms, and was ready to wait ${call.within} ms`)
    }
    if (answer === undefined && history.killedAt(call.process) === Infinity && history.end - call.at <= most(call)) {
      wrong.push(`4: ${said(call)} has no answer at the end`)
    }
    if (answer?.error !== undefined && answer.error !== 'LOAD_FAILED' && !errors.includes(answer.error)) {
      const why = answer.by === undefined ? '' : `: ${answer.by}`
      wrong.push(`4: ${said(call)} got ${answer.error} after ${took.toFixed(0)} ms${why}`)
    }
    if (answer?.error === 'LOAD_FAILED' && !((failures.get(answer.by ?? call.key) ?? Infinity) < answer.at)) {
      wrong.push(`4: ${said(call)} got LOAD_FAILED, and ${answer.by ?? 'no load of its key'} had not failed`)
    }
  }
  return wakeUp === undefined || !timed ? wrong : [...wrong, ...sleepers(history, wakeUp)]
}

/** 4: those who waited on after the end of the load whose value they got, while no newer load was under way. */
function sleepers(history: History, wakeUp: number): string[] {
  const wrong: string[] = []
  const loads = byKey([...history.loads.values()])
  for (const { call, load } of answered(history)) {
    const at = call.answer?.at ?? Infinity
    if (load === undefined || at - call.at <= wakeUp || load.loadedAt === Infinity) continue
    // Whoever is served the value of an older load may have waited for a newer one until then, or for one of its own
    // process that had not heard yet that it was void.
    const others = (loads.get(call.key) ?? []).filter(
      (other) => other.at < at && (other.at > load.at || other.process === call.process),
    )
    const since = Math.max(call.at, load.loadedAt, ...others.map(({ loadedAt }) => Math.min(loadedAt, at)))
    const stood = [call.process, load.process, player].reduce((sum, each) => sum + history.stood(each, since, at), 0)
    const slept = at - since - stood
    if (slept > wakeUp) wrong.push(`4: ${said(call)} slept ${slept.toFixed(0)} ms through the end of ${said(load)}`)
  }
  return wrong
}

/** 4: a write resolves, or is rejected because Redis cannot be heard or its process closes. */
export function writesEnd(history: History, { errors = [], late = 1_000, timed = true }: Allowances = {}): string[] {
  return [...history.writes.values()].flatMap((write) => {
    const { at, writtenAt, error, within: patience = Infinity } = write
    const end = Math.min(writtenAt, history.end)
    const took = end - at - history.stood(write.process, at, end)
    const lives = history.killedAt(write.process) === Infinity
    if (timed ? took > patience + late : lives && writtenAt === Infinity)
      return [`4: ${said(write)} had not ended after ${took.toFixed(0)} ms`]
    const expected = error === undefined || error === 'STORE_UNAVAILABLE' || errors.includes(error)
    return expected ? [] : [`4: ${said(write)} got ${error}`]
  })
}

/**
 * After so many voided loads of its key in a row a caller loads without a lease, or after two when half of its
 * patience is over (docs/protocol.md, honest limits).
 */
const mostVoided = 5
const mostVoidedSlowly = 2

/** The loads that began while another load of the key ran anywhere, and no write had voided it. */
export function extraLoads(history: History): Load[] {
  const writes = byKey([...history.writes.values()])
  const running = new Map<string, Load[]>()
  return [...history.loads.values()].filter((load) => {
    const others = (running.get(load.key) ?? []).filter(
      ({ loadedAt, process }) => Math.min(loadedAt, history.killedAt(process)) > load.at,
    )
    running.set(load.key, [...others, load])
    const before = writes.get(load.key)?.filter(({ at }) => at < load.at) ?? []
    return load.ends !== 'pass' && others.some(({ asked }) => before.every(({ writtenAt }) => writtenAt <= asked))
  })
}

/** The loads without a lease for which there was no reason but that the store could not be asked. */
function unexplained(history: History, { leaseTtl = Infinity }: Allowances): Load[] {
  const writes = byKey([...history.writes.values()])
  const takeovers = byKey(extraLoads(history))
  const lapses = byKey(
    [...history.loads.values()].filter(({ fence, process, at, loadedAt }) => {
      return fence !== null && history.stood(process, at, Math.min(loadedAt, history.end)) >= (leaseTtl * 2) / 3
    }),
  )
  return history.alone().filter(({ key, process, asked, at, within: patience }) => {
    const voids = writes.get(key)?.filter((write) => write.at < at && write.writtenAt > asked) ?? []
    const takenOver = takeovers.get(key)?.filter((load) => load.fence !== null && load.at > asked && load.at < at) ?? []
    // Where no other process wanted the key, nothing shows that its lease has run out but what its holder did then.
    const lapsed = lapses.get(key)?.filter((load) => {
      const isOwn = load.process === process && load.at >= asked && load.loadedAt <= at
      return isOwn && takenOver.every((other) => other.at < load.at || other.at > load.loadedAt)
    })
    const lost = voids.length + takenOver.length + (lapsed?.length ?? 0)
    const isLate = at - asked >= patience / 2
    return lost < (isLate ? mostVoidedSlowly : mostVoided)
  })
}

/** 4: where nothing is done to a process, nobody there notices. */
export function othersNoticeNothing(history: History, allowed: Allowances = {}): string[] {
  const { hit } = allowed
  if (hit === undefined) return []
  const others = <T extends { readonly process: number }>(all: Iterable<T>): T[] =>
    [...all].filter(({ process }) => !hit.includes(process))
  const calls = others(history.calls).filter(
    ({ answer }) => answer?.error !== undefined && answer.error !== 'LOAD_FAILED',
  )
  const writes = others(history.writes.values()).filter(({ error }) => error !== undefined)
  const alone = others(unexplained(history, allowed))
  return [
    ...calls.map((call) => `4: ${said(call)} got ${call.answer?.error}, though nothing was done to its process`),
    ...writes.map((write) => `4: ${said(write)} got ${write.error}, though nothing was done to its process`),
    ...alone.map((load) => `4: ${unleased(load)}, though nothing was done to its process`),
  ]
}

/** 5: what a caller gets was made for its key. */
export function nobodyElsesValue(history: History): string[] {
  return history.calls.flatMap((call) => {
    const { answer } = call
    if (answer === undefined || answer.error !== undefined) return []
    const { key, by } = (answer.value ?? {}) as Partial<Made>
    const maker = history.loads.get(String(by)) ?? history.writes.get(String(by))
    // Who made it may have been killed before it could say so; the value says so itself.
    if (key === call.key && (maker === undefined || maker.key === key)) return []
    return [`5: ${said(call)} got ${JSON.stringify(answer.value)}`]
  })
}

/** 6: whoever asks again after an answer is not given an older value. */
export function neverOlder(history: History, { older = false }: Allowances = {}): string[] {
  if (older) return []
  const wrong: string[] = []
  // What a load without a lease brings, or one that must not be stored, is for those who asked for it.
  const told = answered(history).filter(
    ({ load }) => load === undefined || (load.fence !== null && load.ends !== 'pass'),
  )
  for (const [, ofOne] of grouped(told, ({ call }) => `${call.process} ${call.key}`)) {
    const asked = ofOne.toSorted((one, other) => one.call.at - other.call.at)
    const ended = ofOne.toSorted((one, other) => (one.call.answer?.at ?? 0) - (other.call.answer?.at ?? 0))
    let newest: Told | undefined
    let next = 0
    for (const each of asked) {
      for (
        let done = ended[next];
        done !== undefined && (done.call.answer?.at ?? 0) < each.call.at;
        done = ended[++next]
      ) {
        if (newest === undefined || earliest(done) > earliest(newest)) newest = done
      }
      if (newest === undefined || latest(each) >= earliest(newest)) continue
      wrong.push(
        `6: ${said(each.call)} got a value of ${moment(latest(each))}, after ${said(newest.call)} had one of ${moment(earliest(newest))}`,
      )
    }
  }
  return wrong
}

/** Within so many milliseconds of normal work, somebody is answered. */
const aWhile = 250

/** 8: where no fault is, and none has been for a while, no caller gets an error and nobody loads without a lease. */
export function heals(history: History, allowed: Allowances = {}): string[] {
  const { healsWithin, patience = Infinity } = allowed
  if (healsWithin === undefined) return []
  const faults = history.faults()
  const disturbed = joined(faults.map(({ from, to }) => ({ from, to: to + healsWithin })))
  const calm = (from: number, to: number): boolean => disturbed.every((span) => to < span.from || span.to < from)
  const after = (at: number): string => {
    const healed = faults.reduce((last, { to }) => (to < at ? Math.max(last, to) : last), -Infinity)
    return healed === -Infinity ? 'before any fault' : `${(at - healed).toFixed(0)} ms after all had healed`
  }
  const errors = history.calls.filter(
    ({ at, answer }) => answer?.error !== undefined && answer.error !== 'LOAD_FAILED' && calm(at, answer.at),
  )
  const alone = unexplained(history, allowed).filter(({ asked, at }) => calm(asked, at))
  const patient = history.calls.flatMap((call) => {
    const end = call.answer?.at ?? history.end
    const waited = end - call.at - within(disturbed, call.at, end) - history.stood(call.process, call.at, end)
    return waited > patience ? [{ call, waited, key: call.key }] : []
  })
  const last = disturbed.reduce((latest, { to }) => Math.max(latest, to), -Infinity)
  const served = history.calls.some(({ at, answer }) => at > last && answer !== undefined && answer.error === undefined)
  return [
    ...errors.map((call) => `8: ${said(call)} got ${call.answer?.error}, ${after(call.at)}`),
    ...alone.map((load) => `8: ${unleased(load)}, ${after(load.asked)}`),
    // Where one waits for long, all do who ask for its key.
    ...eachOnce(byKey(patient), ({ call, waited }) => {
      return `8: ${said(call)} waited ${waited.toFixed(0)} ms while nothing was wrong`
    }),
    ...(served || history.end < last + aWhile ? [] : ['8: nobody was answered after all had healed']),
  ]
}

/** 9: a lease is there no longer than its load, but for the moment that it takes to give it back. */
export function noLeaseWithoutLoad(history: History, { healsWithin, queues }: Allowances = {}): string[] {
  return ghostsOf(history, healsWithin, queues).map(({ key, token, load, ms }) => {
    const why = load === undefined ? 'no load ran under it' : `its load ${load.load} had ended`
    return `9: ${key} had the lease ${token} for ${ms.toFixed(0)} ms although ${why}`
  })
}

/** How much longer than its time a value is taken for fresh, in milliseconds: until its fill is sent, and rounding. */
const pastItsTime = 25

/** 10: nobody is given a value that had expired before they asked, beyond its grace and their own. */
export function nothingPastItsTime(history: History, { pastTime = pastItsTime }: Allowances = {}): string[] {
  const wrong = answered(history).flatMap(({ call, load, set }) => {
    const made = (load ?? set) as Load | Write
    const { ttl = Infinity } = made
    const grace = Math.min(load?.grace ?? 0, call.grace ?? 0)
    const late = call.at - (sent(history, made) + ttl + grace)
    return late > pastTime ? [{ call, made, late }] : []
  })
  return eachOnce(
    grouped(wrong, ({ made }) => made),
    ({ call, made, late }) => `10: ${said(call)} got what ${said(made)} made, ${late.toFixed(0)} ms past its time`,
  )
}

interface Told {
  readonly call: Call
  readonly load: Load | undefined
  readonly set: Write | undefined
}

/** The calls that got a value, with what is known of who made it. */
function answered(history: History): Told[] {
  return history.calls.flatMap((call) => {
    const { by } = (call.answer?.value ?? {}) as Partial<Made>
    const load = history.loads.get(String(by))
    const set = history.writes.get(String(by))
    return load === undefined && set === undefined ? [] : [{ call, load, set }]
  })
}

/** The calls that got an error which says what load it came from. */
function failed(history: History): Told[] {
  return history.calls.flatMap((call) => {
    const load = history.loads.get(String(call.answer?.by))
    return load === undefined ? [] : [{ call, load, set: undefined }]
  })
}

interface Floor extends Write {
  readonly until: number
}

/** The newest write that had resolved, for each moment at which that changes. */
function floorsOf(writes: readonly Write[], forgotten: readonly Span[]): Floor[] {
  const floors: Floor[] = []
  const sure = writes.filter(({ at, writtenAt }) => writtenAt < Infinity && within(forgotten, at, writtenAt) === 0)
  for (const write of sure.toSorted((one, other) => one.writtenAt - other.writtenAt)) {
    const last = floors.at(-1)
    if (last !== undefined && last.at >= write.at) continue
    floors.push({ ...write, until: Infinity })
    if (last !== undefined) floors[floors.length - 2] = { ...last, until: write.writtenAt }
  }
  return floors
}

function floorAt(floors: readonly Floor[], at: number): Floor | undefined {
  let low = 0
  let high = floors.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((floors[middle] as Floor).writtenAt < at) low = middle + 1
    else high = middle
  }
  return floors[low - 1]
}

/** The first and the last moment as of which a value can have been true. */
function earliest({ load, set }: Told): number {
  return load?.at ?? (set as Write).at
}

function latest({ load, set }: Told): number {
  return load?.at ?? takesEffectBy(set as Write)
}

/** A write that was rejected may still be carried out as long as it was ready to wait; a set that is later only deletes. */
export function takesEffectBy({ at, writtenAt, error, within: patience = 0 }: Write): number {
  return error === undefined ? writtenAt : Math.max(writtenAt, at + patience)
}

/** When what was made can have been sent at the latest: its time counts from there. */
function sent(history: History, made: Load | Write): number {
  if (made.what === 'write') return made.writtenAt
  const { process, loadedAt } = made
  // Its process may stand still before that; to encode what is large takes time, too.
  const stop = history.stops(process).find(({ from, to }) => from <= loadedAt + pastItsTime && loadedAt < to)
  return stop === undefined || stop.to > history.killedAt(process) ? loadedAt : stop.to
}

/** When it was possible to hear that a load has failed, for each that did, and for each key that any load of failed. */
function firstFailures(history: History): Map<string, number> {
  const first = new Map<string, number>()
  for (const { load, key, at, ends } of history.loads.values()) {
    if (ends !== 'error') continue
    first.set(load, at)
    if (!first.has(key)) first.set(key, at)
  }
  return first
}

/**
 * Whether the lease of one of two loads may have been voided by a write: that takes effect at some moment until it
 * resolves, and one that was rejected may still be carried out long after.
 */
function mayVoid({ at, writtenAt, error }: Write, first: Load, second: Load): boolean {
  return at < second.at && (error === undefined ? writtenAt : Infinity) > Math.min(first.asked, second.asked)
}

/** How many of them ran at once at most, and the last of these in words. */
function mostAtOnce(history: History, loads: readonly Load[]): { most: number; last: string } {
  const changes = loads.flatMap((load) => [
    { at: load.at, by: 1, load },
    { at: Math.min(load.loadedAt, endOfBelief(history, load)), by: -1, load },
  ])
  let most = 0
  let running = 0
  let last = ''
  for (const { by, load } of changes.toSorted((one, other) => one.at - other.at || one.by - other.by)) {
    running += by
    if (running <= most) continue
    most = running
    last = `${said(load)}${load.trouble === undefined ? '' : ` (${load.trouble})`}`
  }
  return { most, last }
}

function byKey<T extends { readonly key: string }>(all: readonly T[]): Map<string, T[]> {
  return grouped(all, ({ key }) => key)
}

function grouped<T, By>(all: readonly T[], by: (each: T) => By): Map<By, T[]> {
  const groups = new Map<By, T[]>()
  for (const each of all) {
    const group = groups.get(by(each))
    if (group === undefined) groups.set(by(each), [each])
    else group.push(each)
  }
  return groups
}

/** The first of each group in words, and how many more there are. */
function eachOnce<T>(groups: ReadonlyMap<unknown, readonly T[]>, words: (first: T) => string): string[] {
  return [...groups.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return []
    return [more.length === 0 ? words(first) : `${words(first)}, and so did ${more.length} more`]
  })
}

function unleased(load: Load): string {
  const { trouble = 'unknown' } = load
  return `${said(load)}, asked for at ${moment(load.asked)}, ran without a lease (last failure: ${trouble})`
}

function said(what: Call | Load | Write): string {
  const id = what.what === 'call' ? what.call : what.what === 'load' ? what.load : what.write
  return `${what.what} ${id} of ${what.key} in process ${what.process} at ${moment(what.at)}`
}

function moment(at: number): string {
  return at.toFixed(3)
}
