import type { PermitAnswer, Permits, Urgency } from '../contract/permits.ts'
import { drawRandom, spread, timers, type Clock, type Timer } from '../time/clock.ts'
import { withDeadline } from '../time/deadline.ts'

/** How long a held permit is held without another report, in milliseconds; a report goes out four times as often. */
const heldFor = 4_000
const reportEvery = 1_000

/** How often a process reports again while loads wait, in milliseconds, ± 25 %: a message may have been lost. */
const whilePushed = 350
const whilePolling = 50

/** How long a process counts as a user of a source after its last load, in milliseconds. */
const keep = 60_000

/** What a process says and asks of a source: the limits, what it holds, and what it wants. */
export interface PermitNeed {
  readonly concurrency: number | null
  readonly rate: { readonly loads: number; readonly per: number } | null
  readonly held: number
  readonly wants: number
  readonly urgency: Urgency
}

/** The arguments of `FleetPermits`. */
interface FleetPermitsAbout {
  readonly source: string
  /** The permits of the fleet; `null` if the store has none, and the limit is that of the process. */
  readonly permits: Permits | null
  /** The name of this process in reports. */
  readonly who: string
  readonly clock: Clock
  /** The deadline of a report, in milliseconds. */
  readonly timeout: number
  /** What the process holds and wants now. */
  readonly need: () => PermitNeed
  /** Gives so many permits to loads; returns how many none wants any more. */
  readonly grant: (count: number) => number
}

/**
 * The permits that this process has of those of the fleet. One report at a time tells the store what it holds and wants,
 * and the answer grants more. While the store is away, the process goes on with its share: the limit divided by the
 * number of processes that it knew last.
 */
export class FleetPermits {
  readonly #about: FleetPermitsAbout
  #seq = 0
  #state: 'idle' | 'due' | 'reporting' | 'closed' = 'idle'
  /** Whether something has changed that the last report does not say. */
  #isNews = false
  /** Whether it goes on without the store, which does not answer or knows no permits. */
  #isAway: boolean
  #isGranting = false
  #timer: Timer | null = null
  #last: PermitAnswer | null = null
  #answeredAt = Number.NEGATIVE_INFINITY

  constructor(about: FleetPermitsAbout) {
    this.#about = about
    this.#isAway = about.permits === null
  }

  /** Who else waits, as the store said last. */
  get waiting(): PermitAnswer['waiting'] {
    return this.#last?.waiting ?? { users: 0, permits: 0 }
  }

  /** What the process holds or wants has changed: it is reported at the end of the tick, or once the report under way is answered. */
  changed(): void {
    if (this.#state === 'closed') return
    if (this.#isAway) this.#goOnAlone()
    this.#isNews = true
    if (this.#state !== 'idle' || (this.#isAway && this.#timer !== null)) return
    this.#state = 'due'
    timers.nextTick(() => void this.#report())
  }

  /** A permit was given back. */
  givenBack(): void {
    if (this.#mayKeep) this.#about.grant(1)
    else this.changed()
  }

  /** Ends the use of the source. What is still held is held for some more seconds; no more is sent. */
  async close(): Promise<void> {
    this.#timer?.cancel()
    const { permits, who } = this.#about
    this.#state = 'closed'
    permits?.forget(who)
    // Nobody else would know that it has left.
    if (this.#seq > 0 && !this.#isAway) await this.#send({ ...this.#about.need(), wants: 0 }, 0).catch(() => null)
  }

  /**
   * Whether the next load of this process may have a permit that was given back, without a report: callers wait for it,
   * and the process holds no more than its share beside the others that wait.
   */
  get #mayKeep(): boolean {
    if (this.#isAway || this.#last === null) return false
    const { rate, wants, urgency, held } = this.#about.need()
    if (rate !== null || wants === 0 || urgency > 0) return false
    if (this.#about.clock.now() > this.#answeredAt + reportEvery) return false
    const { concurrency, waiting } = this.#last
    // Rounded down, so that all that wait may have as many: otherwise one that keeps its permits would keep another from any.
    return held < Math.floor((concurrency ?? Number.POSITIVE_INFINITY) / (waiting.users + 1))
  }

  /** Without the store, nobody is asked, and nobody waits for an answer. */
  #goOnAlone(): void {
    if (this.#isGranting) return
    this.#isGranting = true
    timers.nextTick(() => {
      this.#isGranting = false
      if (this.#isAway && this.#state !== 'closed') this.#about.grant(this.#alone)
    })
  }

  /** How many more permits it has without the store. */
  get #alone(): number {
    const { concurrency, held, wants } = this.#about.need()
    if (concurrency === null) return wants
    const users = this.#about.permits === null ? 1 : (this.#last?.users ?? 1)
    return Math.max(1, Math.floor(concurrency / users)) - held
  }

  async #report(): Promise<void> {
    if (this.#state === 'closed') return
    this.#timer?.cancel()
    this.#timer = null
    this.#state = 'reporting'
    this.#isNews = false
    const answer = await this.#send(this.#about.need(), keep).catch(() => null)
    // It may have been closed meanwhile.
    if ((this.#state as string) === 'closed') return
    this.#state = 'idle'
    this.#isAway = answer === null
    if (answer === null) this.#goOnAlone()
    else {
      this.#last = answer
      this.#answeredAt = this.#about.clock.now()
      // What was granted and is not wanted any more must be given back.
      if (this.#about.grant(answer.granted) > 0) this.#isNews = true
    }
    this.#wait()
    if (this.#isNews && !this.#isAway) this.changed()
  }

  #send(need: PermitNeed, keepFor: number): Promise<PermitAnswer | null> {
    const { permits, source, who, clock, timeout: most } = this.#about
    if (permits === null) return Promise.resolve(null)
    const known = clock.now() < this.#answeredAt + keep ? (this.#last?.users ?? 0) : 0
    const report = { ...need, source, who, seq: ++this.#seq, ttl: heldFor, keep: keepFor, known }
    return withDeadline(() => permits.report(report, () => this.changed()), { most, clock })
  }

  /** Reports again later: for the permits that it holds, or because a message may have been lost. */
  #wait(): void {
    const { permits, clock, need } = this.#about
    if (permits === null || this.#timer !== null) return
    const { held, wants } = need()
    // A report that was not answered may be what gives permits back.
    if (wants === 0 && held === 0 && !this.#isAway) return
    const { pushed = true, again = null } = this.#last ?? {}
    const often = spread(pushed || this.#isAway ? whilePushed : whilePolling, drawRandom(clock))
    this.#timer = clock.after(wants > 0 ? Math.min(often, again ?? often) : reportEvery, this.#due, 'background')
  }

  readonly #due = (): void => {
    this.#timer = null
    this.changed()
  }
}
