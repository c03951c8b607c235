import {
  clockSlack,
  placeKept,
  recovery,
  type PermitAnswer,
  type PermitReport,
  type Permits,
} from '../core/contract/permits.ts'
import { RateWindow } from '../core/source/rate-window.ts'
import type { Clock } from '../core/time/clock.ts'

/** A user of a source. */
interface User extends Pick<PermitReport, 'who' | 'seq' | 'urgency' | 'concurrency' | 'rate' | 'ttl' | 'keep'> {
  held: number
  wants: number
  readonly at: number
  /** Its place in the queue: those with a smaller one have waited longer. */
  readonly place: number
}

interface Source {
  readonly users: Map<string, User>
  /** Until when forgotten users may report, by the clock. */
  recoversUntil: number
  /** How many users there were, as far as anybody knew. */
  knownUsers: number
  readonly granted: RateWindow
}

/** The permits of sources in this process, decided as permits.lua does on Redis. */
export class MemoryPermits implements Permits {
  readonly #clock: Clock
  readonly #sources = new Map<string, Source>()
  readonly #told = new Map<string, () => void>()
  #lastPlace = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async report(report: PermitReport, told: () => void): Promise<PermitAnswer> {
    this.#told.set(report.who, told)
    return this.#decide(report)
  }

  forget(who: string): void {
    this.#told.delete(who)
  }

  /** Forgets everything, as a server does that was flushed. */
  clear(): void {
    this.#sources.clear()
  }

  #decide(report: PermitReport): PermitAnswer {
    const { who, seq, wants, urgency, ttl, keep, known } = report
    const now = this.#clock.now()
    const isForgotten = !this.#sources.has(report.source)
    const source = this.#source(report.source)
    const others = this.#others(source, who, now)
    const mine = source.users.get(who)
    const most = Math.min(...[...others, report].map((each) => each.concurrency ?? Number.POSITIVE_INFINITY))
    const concurrency = most < Number.POSITIVE_INFINITY ? most : null
    const rates = [...others, report].flatMap(({ rate }) => rate ?? [])
    const answer = { holds: true, users: others.length + 1, concurrency, again: null, pushed: true }
    if (mine !== undefined && mine.seq >= seq) {
      const before = mine.seq === seq ? Math.max(0, mine.held - report.held) : 0
      return { ...answer, granted: before, waiting: { users: 0, permits: 0 } }
    }

    const holds = report.strict !== true || (mine?.held ?? 0) > 0
    const held = holds ? report.held : 0
    if (isForgotten && known > 0) Object.assign(source, { recoversUntil: now + recovery, knownUsers: known })
    const users = Math.max(source.knownUsers, known, others.length + 1)
    const { room, again } = roomOf(source, { most, used: sum(others, 'held') + held, held, users, rates }, now)

    const isNew = mine === undefined || mine.wants === 0 || mine.urgency !== urgency
    const place = isNew ? ++this.#lastPlace : mine.place
    const waiting = others.filter((each) => each.wants > 0 && each.urgency <= urgency)
    const peers = waiting.filter((each) => each.urgency === urgency)
    const share = Math.ceil(most / (waiting.length + 1))
    const first = peers.filter((each) => each.place < place && each.held < share).length
    const left = room - first - (sum(waiting, 'wants') - sum(peers, 'wants'))
    const fair = waiting.length > 0 ? Math.max(0, share - held) : wants
    const granted = wants > 0 && left > 0 ? Math.min(wants, fair, Math.ceil(left / (peers.length + 1))) : 0
    if (granted > 0 && rates.length > 0) source.granted.note(granted, rates, now)

    const isOver = granted > 0 || wants === 0
    const next = { held: held + granted, wants: wants - granted, at: now, place: isOver ? ++this.#lastPlace : place }
    if (next.held > 0 || next.wants > 0 || keep > 0) {
      const limits = { concurrency: report.concurrency, rate: report.rate }
      source.users.set(who, { who, seq, urgency, ...limits, ttl, keep, ...next })
    } else source.users.delete(who)
    if (wants > 0 && isNew) for (const each of others) if (each.held > share) this.#told.get(each.who)?.()
    if (!isRecovering(source, now)) this.#tell(others, room - granted, share)
    return { ...answer, granted, holds, waiting: { users: waiting.length, permits: sum(waiting, 'wants') }, again }
  }

  #source(name: string): Source {
    const source = this.#sources.get(name) ?? {
      users: new Map(),
      recoversUntil: Number.NEGATIVE_INFINITY,
      knownUsers: 0,
      granted: new RateWindow(),
    }
    this.#sources.set(name, source)
    return source
  }

  #others({ users }: Source, who: string, now: number): User[] {
    for (const [its, user] of users) {
      const age = now - user.at
      // Nothing lasts longer than intended because this clock was set back.
      const isOver = (ms: number): boolean => age >= ms || age < -clockSlack
      if (isOver(user.ttl)) user.held = 0
      if (isOver(placeKept)) user.wants = 0
      if (its !== who && user.held === 0 && user.wants === 0 && isOver(user.keep)) users.delete(its)
    }
    return [...users.values()].filter((user) => user.who !== who)
  }

  /**
   * Tells the first waiting users that there is room for them: what more urgent ones want is set aside. Else two users
   * for which there is none would tell each other of it, again and again.
   */
  #tell(others: readonly User[], free: number, share: number): void {
    const line = others
      .filter(({ wants }) => wants > 0)
      .toSorted((one, other) => one.urgency - other.urgency || one.place - other.place)
    let [told, before, urgency, alike] = [0, 0, 0, 0]
    for (const user of line) {
      if (user.urgency > urgency) [before, urgency, alike] = [before + alike, user.urgency, 0]
      if (told >= free || before >= free) return
      alike += user.wants
      if (user.held >= share) continue
      this.#told.get(user.who)?.()
      told++
    }
  }
}

function sum(users: readonly User[], what: 'held' | 'wants'): number {
  return users.reduce((all, user) => all + user[what], 0)
}

/** Whether users that were forgotten may still have to report. */
function isRecovering({ recoversUntil }: Source, now: number): boolean {
  return recoversUntil > now && recoversUntil <= now + recovery
}

/** How many permits there are to grant, and after how long there may be more. */
function roomOf(
  source: Source,
  asked: {
    most: number
    used: number
    held: number
    users: number
    rates: readonly NonNullable<PermitReport['rate']>[]
  },
  now: number,
): { readonly room: number; readonly again: number | null } {
  const { most, used, held, users, rates } = asked
  const { left, again: next } = source.granted.room(rates, now)
  const room = Math.min(most - used, left)
  if (!isRecovering(source, now) || most === Number.POSITIVE_INFINITY) return { room, again: next }
  const share = Math.max(1, Math.floor(most / users))
  const recovered = source.recoversUntil - now
  return { room: Math.min(room, share - held), again: Math.min(recovered, next ?? recovered) }
}
