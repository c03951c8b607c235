import { drawRandom, type Timer } from '../time/clock.ts'
import { isSameKind, type Kind } from '../codec/schema.ts'
import { closedError } from '../errors.ts'
import { Flight, type FlightParts } from './flight.ts'
import type { CallRequest, LoadRequest } from './loader.ts'
import { isRefreshDue, type EntryFacts } from '../entry/freshness.ts'

/** The flights of one cache: at most one per key can be joined. */
export class Flights {
  readonly #byKey = new Map<string, Flight>()
  readonly #inTheAir = new Set<Flight>()
  readonly #cooldowns = new Set<Timer>()
  readonly #parts: FlightParts
  readonly #onValue: (key: string) => void

  /** @param onValue called with the key of each new value that callers here receive */
  constructor(parts: FlightParts, onValue: (key: string) => void) {
    this.#parts = parts
    this.#onValue = onValue
  }

  /** The flight of a key that a caller of this kind may join now. */
  joinable(key: string, kind: Kind): Flight | null {
    const flight = this.#byKey.get(key)
    if (flight === undefined || !isSameKind(flight.kind, kind)) return null
    return flight.state === 'claiming' || flight.state === 'waiting' || flight.state === 'loading' ? flight : null
  }

  /** The state of a key's flight. */
  stateOf(key: string): 'none' | Exclude<Flight['state'], 'over'> {
    const state = this.#byKey.get(key)?.state ?? 'over'
    return state === 'over' ? 'none' : state
  }

  /** Starts a flight, which later callers of the key join. */
  start(request: LoadRequest): Flight {
    const { clock, events } = this.#parts
    const since = clock.now()
    const flight = new Flight(request, this.#parts)
    this.#byKey.set(request.key, flight)
    this.#inTheAir.add(flight)
    void flight.outcome.then((outcome) => {
      this.#inTheAir.delete(flight)
      flight.traceOutcome(outcome)
      const { key, waitingSince } = flight
      // A caller that has seen a new value must not be served an older copy.
      if (outcome.state === 'value') this.#onValue(key)
      if (flight.state === 'waiting' && waitingSince !== null) {
        events.emit('waited', { key, duration: clock.now() - waitingSince })
      }
      if (outcome.state === 'failed' && outcome.error.code !== 'CLOSED') {
        events.emit('failure', { key, error: outcome.error, duration: clock.now() - since })
        // While the source rests, its stale value is served without a claim to refresh it.
        if (flight.hasStale && request.plan.failureCooldown > 0) {
          return this.#keepForCooldown(flight, request.plan.failureCooldown)
        }
      }
      this.#end(flight)
    })
    return flight
  }

  /** Starts a refresh of the value that was read, by this process or another; no caller here waits for it. */
  refresh({ key, loader, plan, tags, askedAt, askedAtMs }: CallRequest, read: LoadRequest['read']): void {
    if (this.#isBusy(key)) return
    this.start({ key, loader, plan, tags, askedAt, askedAtMs, parent: null, read, refresh: true })
  }

  /** Starts a refresh of a fresh value if it is due. */
  refreshAhead(request: CallRequest, entry: EntryFacts, value: unknown): void {
    const { refreshAhead } = request.plan
    if (
      refreshAhead === null ||
      !isRefreshDue(entry, refreshAhead, 1 - drawRandom(this.#parts.clock)) ||
      this.#isBusy(request.key)
    )
      return
    this.#parts.events.emit('refreshAhead', { key: request.key })
    this.refresh(request, { token: entry.token, value: { value, age: entry.age, ...entry.validators }, replace: true })
  }

  /** Detaches the flight of a key, so that no caller joins it any more: its outcome may be void. */
  detach(key: string): void {
    this.#byKey.delete(key)
  }

  /** Resolves when all flights that are under way now have ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#inTheAir].map((flight) => flight.outcome))
  }

  /** Gives up the flights that are still under way. */
  giveUp(): void {
    for (const flight of this.#inTheAir) flight.giveUp(closedError(flight.key))
  }

  close(): void {
    for (const rest of this.#cooldowns) rest.cancel()
  }

  /** Whether a key has a flight, or its source rests after a failed one. */
  #isBusy(key: string): boolean {
    const flight = this.#byKey.get(key)
    return flight !== undefined && flight.state !== 'over'
  }

  #keepForCooldown(flight: Flight, ms: number): void {
    flight.state = 'resting'
    const rest = this.#parts.clock.after(
      ms,
      () => {
        this.#cooldowns.delete(rest)
        this.#end(flight)
      },
      'background',
    )
    this.#cooldowns.add(rest)
  }

  #end(flight: Flight): void {
    flight.state = 'over'
    if (this.#byKey.get(flight.key) === flight) this.#byKey.delete(flight.key)
  }
}
