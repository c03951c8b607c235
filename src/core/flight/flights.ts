import { isRefreshDue, type EntryFacts } from '../entry/freshness.ts'
import { closedError } from '../errors.ts'
import { drawRandom } from '../time/clock.ts'
import type { Answer } from './answer.ts'
import type { Caller, Existing } from './caller.ts'
import type { FlightState } from './key-flight.ts'
import { LeasedFlight } from './leased-flight.ts'
import type { FlightParts } from './parts.ts'

/** The flights of one cache: at most one per key can be joined. */
export class Flights {
  readonly #parts: FlightParts
  readonly #byKey = new Map<string, LeasedFlight>()
  readonly #inTheAir = new Map<LeasedFlight, Promise<void>>()

  constructor(parts: FlightParts) {
    this.#parts = parts
  }

  /** The flight of a key that a caller may join now. */
  joinable(caller: Caller): LeasedFlight | null {
    const flight = this.#byKey.get(caller.key)
    return flight?.admits(caller) ? flight : null
  }

  /** Starts a flight for a caller, which later callers of its key join. */
  start(lead: Caller, existing: Existing | null): LeasedFlight {
    return this.#launch(lead, existing, false)
  }

  /** Refreshes a stored value in the background; `null` if the key has a flight, or its source rests. */
  refresh(caller: Caller, existing: Existing | null): LeasedFlight | null {
    return this.#isBusy(caller.key) ? null : this.#launch(caller, existing, true)
  }

  /** Refreshes a fresh value in the background, if that is due. */
  refreshAhead(caller: Caller, entry: EntryFacts, value: unknown): void {
    const { key, plan } = caller
    const { clock, events } = this.#parts
    if (plan.refreshAhead === null || !isRefreshDue(entry, plan.refreshAhead, 1 - drawRandom(clock))) return
    // A caller that may lead has its answer.
    if (caller.beginning !== null || this.#isBusy(key)) return
    events.emit('refreshAhead', { key })
    const { token, age, validators } = entry
    this.refresh(caller, { token, value: { value, age, ...validators }, replace: true })
  }

  /**
   * Detaches the flight of a key, so that no caller joins it any more: its answer may be void. Returns it, for the end of
   * the write that voids it.
   */
  detach(key: string): LeasedFlight | undefined {
    const flight = this.#byKey.get(key)
    this.#byKey.delete(key)
    this.#parts.pacing.endRest(key)
    return flight
  }

  /** The state of a key's flight. `resting`: a load failed, and its stale value is not refreshed yet. */
  stateOf(key: string): 'none' | 'resting' | Exclude<FlightState, 'over'> {
    const state = this.#byKey.get(key)?.state ?? 'over'
    if (state !== 'over') return state
    return this.#parts.pacing.isResting(key) ? 'resting' : 'none'
  }

  /** How many callers wait for an answer for a key. */
  callersOf(key: string): number {
    let count = this.#parts.unleased.callersOf(key)
    for (const flight of this.#inTheAir.keys()) if (flight.key === key) count += flight.callers
    return count
  }

  /** Resolves when all flights that are under way now have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#inTheAir.values())
  }

  /** Rejects the callers of all flights with CLOSED; resolves when the leases of the flights are given back. */
  async close(): Promise<void> {
    for (const flight of this.#inTheAir.keys()) flight.giveUp(closedError(flight.key))
    await this.settled()
  }

  #launch(lead: Caller, existing: Existing | null, isRefresh: boolean): LeasedFlight {
    const since = this.#parts.clock.now()
    const flight = new LeasedFlight(lead, this.#parts, existing, isRefresh)
    this.#byKey.set(lead.key, flight)
    this.#parts.pacing.endRest(lead.key)
    this.#inTheAir.set(
      flight,
      flight.start((answer) => this.#ended(flight, answer, since)),
    )
    return flight
  }

  #ended(flight: LeasedFlight, answer: Answer, since: number): void {
    const { key, lead } = flight
    const { events, spare, clock, pacing } = this.#parts
    this.#inTheAir.delete(flight)
    if (this.#byKey.get(key) === flight) this.#byKey.delete(key)
    // A caller that has seen a new value must not be served an older copy.
    if (answer.state === 'value') spare?.forget(key)
    flight.endWait()
    if (answer.state !== 'failed' || answer.error.code === 'CLOSED') return
    // A load that its source has no room for has not failed: it was reported as overloaded.
    if (answer.error.code !== 'OVERLOADED') {
      events.emit('failure', { key, error: answer.error, duration: clock.now() - since })
    }
    // While the source rests, its stale value is served without a claim to refresh it.
    if (flight.hasStale) pacing.rest(key, lead.plan.failureCooldown)
  }

  /** Whether a key has a flight, or its source rests after a failed one. */
  #isBusy(key: string): boolean {
    return this.#byKey.has(key) || this.#parts.pacing.isResting(key)
  }
}
