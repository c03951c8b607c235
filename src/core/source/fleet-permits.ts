import type { PermitAnswer, Permits, Urgency } from '../contract/permits.ts'
import { drawRandom, spread, TickBatch, timers, type Clock, type Timer } from '../time/clock.ts'
import { withDeadline } from '../time/deadline.ts'
import { RateWindow } from './rate-window.ts'

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
  /** How long it has held the oldest permit, in milliseconds. */
  readonly oldest: number
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
  /** As many of the loads that wait begin; returns for how many there was none. */
  readonly grant: (count: number) => number
  /** The store answers again. */
  readonly back: () => void
  /** Called with what a report says, when it is sent. */
  readonly reported: (need: PermitNeed) => void
}

/**
 * The permits that this process has of those of the fleet. One report at a time tells the store what it holds and wants,
 * and the answer grants more. While the store is away, the process goes on with its share: the limit divided by the
 * number of processes that it knew last.
 */
export class FleetPermits {
  readonly #about: FleetPermitsAbout
  #seq = 0
  /** `due`: a report goes out at the end of the tick. `outdated`: the one under way does not say all any more. */
  #state: 'idle' | 'due' | 'reporting' | 'outdated' | 'closed' = 'idle'
  /** Whether it goes on without the store, which does not answer or knows no permits. */
  #isAlone: boolean
  /** What it was granted of late, if there is a rate. */
  readonly #granted = new RateWindow()
  readonly #aloneThisTick: TickBatch<null>
  #timer: Timer | null = null
  #last: PermitAnswer | null = null
  #answeredAt = Number.NEGATIVE_INFINITY

  constructor(about: FleetPermitsAbout) {
    this.#about = about
    this.#isAlone = about.permits === null
    this.#aloneThisTick = new TickBatch(() => this.#grantAlone())
  }

  /** Who else waits, as the store said last. */
  get waiting(): PermitAnswer['waiting'] {
    return this.#last?.waiting ?? { users: 0, permits: 0 }
  }

  /** How many loads of this process could begin now as far as it knows, if so many processes shared the limits. */
  roomAmong(users: number): number {
    const { concurrency, rate, held } = this.#about.need()
    const shareOf = (limit: number): number => Math.max(1, Math.floor(limit / users))
    const places = concurrency === null ? Number.POSITIVE_INFINITY : shareOf(concurrency) - held
    const own = rate === null ? [] : [{ loads: shareOf(rate.loads), per: rate.per }]
    return Math.max(0, Math.min(places, this.#granted.room(own, this.#about.clock.now()).left))
  }

  /**
   * What the process holds or wants has changed: that is reported at the end of the tick, or once the report under way
   * is answered. Without the store nobody waits for an answer.
   */
  changed(): void {
    if (this.#isAlone) this.#aloneThisTick.add(null)
    // Alone, it asks from time to time whether the store answers again.
    if (this.#state === 'idle' && !(this.#isAlone && this.#timer !== null)) {
      this.#state = 'due'
      timers.nextTick(() => void this.#report())
    } else if (this.#state === 'reporting') this.#state = 'outdated'
  }

  /** A permit was given back. */
  givenBack(): void {
    if (this.#mayKeep) this.#about.grant(1)
    else this.changed()
  }

  /** Ends the use of the source. What is still held is held for some more seconds; no more is sent. */
  async close(): Promise<void> {
    this.#timer?.cancel()
    this.#state = 'closed'
    const { permits, who } = this.#about
    // Nobody else would know that it has left.
    if (this.#seq > 0 && !this.#isAlone) await this.#send({ ...this.#about.need(), wants: 0 }, 0).catch(() => null)
    permits?.forget(who)
  }

  /**
   * Whether the next load of this process may have a permit that was given back, without a report: callers wait for it,
   * and the process holds no more than its share beside the others that wait.
   */
  get #mayKeep(): boolean {
    if (this.#isAlone || this.#last === null) return false
    const { rate, wants, urgency, held } = this.#about.need()
    if (rate !== null || wants === 0 || urgency > 0) return false
    if (this.#about.clock.now() > this.#answeredAt + reportEvery) return false
    const { concurrency, waiting } = this.#last
    // Rounded down, so that all that wait may have as many: else one that keeps its permits would keep another from any.
    return held < Math.floor((concurrency ?? Number.POSITIVE_INFINITY) / (waiting.users + 1))
  }

  /** Grants its share of the limits: divided by the number of processes that it knew last. */
  #grantAlone(): void {
    if (!this.#isAlone || this.#state === 'closed') return
    this.#grant(Math.min(this.#about.need().wants, this.roomAmong(this.#last?.users ?? 1)))
  }

  /** Gives so many permits to loads; returns how many none wants any more. */
  #grant(count: number): number {
    const { rate } = this.#about.need()
    const unused = this.#about.grant(count)
    if (rate !== null && count > unused) this.#granted.note(count - unused, [rate], this.#about.clock.now())
    return unused
  }

  async #report(): Promise<void> {
    if (this.#state === 'closed') return
    this.#timer?.cancel()
    this.#timer = null
    this.#state = 'reporting'
    const need = this.#about.need()
    this.#about.reported(need)
    const answer = await this.#send(need, keep).catch(() => null)
    // It may have been closed, and more may have changed, meanwhile.
    const after = this.#state as 'reporting' | 'outdated' | 'closed'
    if (after === 'closed') return
    this.#state = 'idle'
    if (this.#isAlone && answer !== null) this.#about.back()
    this.#isAlone = answer === null
    // Without a store that grants permits, a report has no answer, and is not repeated at once.
    let isOutdated = after === 'outdated' || (answer === null && this.#about.permits !== null)
    if (answer !== null) {
      this.#last = answer
      this.#answeredAt = this.#about.clock.now()
      // What was granted and is not wanted any more must be given back.
      isOutdated = this.#grant(answer.granted) > 0 || isOutdated
    }
    this.#wait()
    if (isOutdated) this.changed()
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
    const { held, wants } = need()
    // A report that was not answered may be what gives permits back.
    const isSettled = held === 0 && (!this.#isAlone || permits === null)
    if (this.#timer !== null || (wants === 0 && isSettled)) return
    const { pushed = true, again = null } = this.#last ?? {}
    const often = spread(pushed || this.#isAlone ? whilePushed : whilePolling, drawRandom(clock))
    this.#timer = clock.after(wants > 0 ? Math.min(often, again ?? often) : reportEvery, this.#due, 'background')
  }

  readonly #due = (): void => {
    this.#timer = null
    this.changed()
  }
}
