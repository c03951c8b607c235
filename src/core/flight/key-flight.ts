import { isSameKind } from '../codec/schema.ts'
import type { Urgency } from '../contract/permits.ts'
import type { CacheError } from '../errors.ts'
import { endTrace, type FlightTrace } from '../observe/tracing.ts'
import type { Permit } from '../source/permit.ts'
import type { CausalTime } from '../time/clock.ts'
import { always, askedBefore, type Answer } from './answer.ts'
import type { Caller } from './caller.ts'
import type { LoadNode } from './circular-load.ts'
import type { Queueing } from './queueing.ts'
import type { FlightParts } from './parts.ts'

/** The end of a caller's wait: the answer of its flight, or `late` if its time is over before. */
export type WaitEnd = Answer | { readonly state: 'late' }

/**
 * The state of a flight. Callers can join until its loader has ended. `queued`: its load waits for a permit of its
 * source, or without a lease for a place. `filling`: the loader has ended, so the answer may be older than a new caller.
 */
export type FlightState = 'claiming' | 'waiting' | 'queued' | 'loading' | 'filling' | 'over'

/**
 * The callers of one key in this process that wait for one answer. It ends once; a caller for which the answer does not
 * count asks again. A subclass seeks the answer.
 */
export abstract class KeyFlight implements LoadNode {
  readonly key: string
  readonly cache: object
  readonly parent: LoadNode | null
  /** The caller whose loader and options it uses. */
  readonly lead: Caller
  state: FlightState
  /** Whether a stale value exists: then callers should read before they join, to be served that instead. */
  hasStale = false
  /** How many callers wait for it. */
  callers = 0
  permit: Permit | null = null
  /** The loaders that have joined it, one of which may bring the permit for its load; `null` if none has. */
  loaders: LoadNode[] | null = null
  /** The wait for the permit of its load. */
  queueing: Queueing | null = null
  /** Only callers that asked before this moment may join: for later ones its answer will not count. */
  currentAsOf: CausalTime = always
  protected readonly parts: FlightParts
  protected readonly trace: FlightTrace | null
  /** Whether one of its callers goes before refreshes and warm-up at a source, and one of another process does. */
  #isUrgent = false
  #isUrgentElsewhere = false
  /** When the last of its callers has no time left, by the clock. */
  #until = 0
  /** Whether its load may wait for its source. */
  protected mayWait = true
  readonly #groups: WaitGroup[] = []
  #answer: Answer | null = null
  #waitsFor: Set<{ readonly to: LoadNode }> | null = null

  protected constructor(
    lead: Caller,
    parts: FlightParts,
    {
      state,
      trace,
      parent = lead.parent,
    }: { readonly state: FlightState; readonly trace: FlightTrace | null; readonly parent?: LoadNode | null },
  ) {
    this.key = lead.key
    this.cache = parts.store
    this.parent = parent
    this.lead = lead
    this.parts = parts
    this.state = state
    this.trace = trace
  }

  /** Seeks the answer; never rejects. */
  protected abstract fly(): Promise<Answer>

  /** Ends what is under way before its time. */
  protected abstract abandon(error: CacheError): void

  // Created when first read: few loaders wait for other loads.
  get waitsFor(): Set<{ readonly to: LoadNode }> {
    return (this.#waitsFor ??= new Set())
  }

  /**
   * Begins.
   * @param ended called with the answer before its callers have it
   * @returns resolves when they have it
   */
  start(ended: (answer: Answer) => void): Promise<void> {
    return this.fly().then((answer) => {
      if (answer.state === 'value') this.parts.near?.freezeLoaded(answer.value)
      ended(answer)
      this.lead.beginning?.ended(answer)
      this.state = 'over'
      this.#end(answer)
    })
  }

  /** Gives up what is under way; its callers are given `error` at once. */
  giveUp(error: CacheError): void {
    this.#end({ state: 'failed', error, currentAsOf: always })
    this.abandon(error)
  }

  /** How urgent its load is, until when it is of use, by the clock, and whether it may wait. */
  get need(): { readonly urgency: Urgency; readonly until: number; readonly mayWait: boolean } {
    const until = this.callers === 0 ? Number.POSITIVE_INFINITY : this.#until
    const isUrgent = this.#isUrgentElsewhere || (this.callers > 0 && this.#isUrgent)
    return { urgency: isUrgent ? 0 : this.callers === 0 ? 1 : 2, until, mayWait: this.mayWait }
  }

  /** A caller of another process waits for its load, which is then as urgent as for one of this process. */
  hurry(): void {
    this.#isUrgentElsewhere = true
    this.queueing?.hurry()
  }

  /** Whether its loader runs. */
  get running(): boolean {
    return this.state === 'loading'
  }

  /** Whether a caller may join now. A refresh must not join a claim, which may end with the existing value. */
  admits(caller: Caller): boolean {
    const { state } = this
    if (state === 'filling' || state === 'over' || (caller.refresh !== null && state === 'claiming')) return false
    return isSameKind(this.lead.plan, caller.plan) && askedBefore(caller, this.currentAsOf)
  }

  /**
   * Adds a caller.
   * @param until when its wait ends at the latest, by the clock, in milliseconds
   * @param size how many callers it stands for
   * @returns the end of its wait
   */
  join(caller: Caller, until: number, size = 1): Promise<WaitEnd> {
    if (this.#answer !== null) return Promise.resolve(this.#answer)
    const { clock, deadlines } = this.parts
    this.callers += size
    this.#isUrgent ||= !caller.isLow
    this.#until = Math.max(this.#until, caller.deadline)
    if (caller.parent !== null) (this.loaders ??= []).push(caller.parent)
    this.queueing?.joined(caller)
    const at = Math.ceil(until)
    // Most callers join when they ask.
    const since = caller.past.flights === 0 ? caller.askedAtMs : clock.now()
    let group = this.#groups.at(-1)
    if (group?.at !== at || since - group.since >= 1 || since < group.since) {
      group = new WaitGroup(this, at, since)
      this.#groups.push(group)
      deadlines.add(at, group)
    }
    group.callers += size
    caller.group = group
    caller.onLeave = null
    // The flight is part of the trace of the caller that it was started for.
    if (caller !== this.lead) this.#traceWait(caller, group)
    return group.ended
  }

  /** The callers of a group have no time left. */
  expire(group: WaitGroup): void {
    this.callers -= group.callers
    this.#groups.splice(this.#groups.indexOf(group), 1)
    group.end({ state: 'late' })
  }

  #end(answer: Answer): void {
    this.#answer ??= answer
    const { deadlines } = this.parts
    for (const group of this.#groups) {
      deadlines.delete(group.at, group)
      group.end(answer)
    }
    this.#groups.length = 0
    if (this.trace !== null) endTrace(this.trace, answer)
  }

  #traceWait(caller: Caller, group: WaitGroup): void {
    const { tracing } = this.parts
    if (this.trace === null || !tracing.isFollowed) return
    const trace = tracing.begin('wait', this.key)
    caller.onLeave = () => trace.end('left')
    trace.follows(this.trace.context)
    void group.ended.then((ended) => (ended.state === 'late' ? trace.end('left') : endTrace(trace, ended)))
  }
}

/** The callers of a flight that began to wait, and will stop, within the same millisecond: they share a promise. */
export class WaitGroup {
  /** When their time ends, and when the first of them began to wait, by the clock, in milliseconds. */
  readonly at: number
  readonly since: number
  readonly ended: Promise<WaitEnd>
  callers = 0
  readonly #resolve: (end: WaitEnd) => void
  #isOver = false
  readonly flight: KeyFlight

  constructor(flight: KeyFlight, at: number, since: number) {
    this.flight = flight
    this.at = at
    this.since = since
    let resolve!: (end: WaitEnd) => void
    this.ended = new Promise((settle) => (resolve = settle))
    this.#resolve = resolve
  }

  end(end: WaitEnd): void {
    this.#isOver = true
    this.#resolve(end)
  }

  /** One of them leaves. */
  leave(): void {
    if (this.#isOver) return
    this.callers--
    this.flight.callers--
  }

  expire(): void {
    this.flight.expire(this)
  }
}
