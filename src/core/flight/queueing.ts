import { CacheError } from '../errors.ts'
import type { QueuedLoad } from '../source/load-queue.ts'
import type { Permit } from '../source/permit.ts'
import type { Source } from '../source/source.ts'
import type { Caller } from './caller.ts'
import type { LoadNode } from './circular-load.ts'
import type { KeyFlight } from './key-flight.ts'
import type { FlightParts } from './parts.ts'

/** How a load is to begin: with a permit, without one because it needs none, or not at all. */
export type Entrance = Permit | CacheError | null

/** The wait of a flight for the permit of its load. Meanwhile callers may join it. */
export class Queueing {
  readonly ended: Promise<Entrance>
  readonly #source: Source
  readonly #load: QueuedLoad
  #isStopped = false
  #stop!: (end: CacheError | null) => void

  constructor(source: Source, load: QueuedLoad) {
    this.#source = source
    this.#load = load
    const stopped = new Promise<CacheError | null>((resolve) => (this.#stop = resolve))
    this.ended = Promise.race([load.ended, stopped])
  }

  /** A caller joins: the load is as urgent as the caller, and may use the permit of the loader that the caller is. */
  joined(caller: Caller): void {
    // One that has a stale value waits for less, but the load is of use for as long as for others.
    if (!caller.isLow) this.#load.joined(caller.deadline)
    if (holdsAbove(caller.parent, this.#source)) this.stop(null)
  }

  /** A caller of another process waits for the load. */
  hurry(): void {
    this.#load.hurry()
  }

  /** Ends the wait. */
  stop(end: CacheError | null): void {
    // Two loaders may bring their permits in one tick.
    if (this.#isStopped) return
    this.#isStopped = true
    this.#load.leave()
    // Without effect if the permit came in the same moment: it has ended the wait.
    this.#stop(end)
  }
}

/** Whether one of these loaders holds a permit of the source: it waits for what it loads, and does not use it itself. */
function holdsAbove(node: LoadNode | null, source: Source): boolean {
  for (let above = node; above !== null; above = above.parent) {
    if (above.running && above.permit?.source === source) return true
  }
  return false
}

/** Asks for the permit of a flight's load, if its source has a limit, and waits for it. */
export async function enterSource(flight: KeyFlight, { sources, clock, events }: FlightParts): Promise<Entrance> {
  const { key, lead, loaders } = flight
  const source = sources.of(lead.plan.source)
  if (source === null || loaders?.some((loader) => holdsAbove(loader, source))) return null
  const since = clock.now()
  const entered = source.enter({ key, ...flight.need }, lead.wishes.batch)
  let end: Entrance
  if (entered instanceof CacheError) end = entered
  else {
    events.emit('queued', { key, source: source.name })
    flight.state = 'queued'
    flight.queueing = new Queueing(source, entered)
    end = await flight.queueing.ended
    flight.queueing = null
    events.emit('permitted', { key, source: source.name, duration: clock.now() - since })
  }
  if (end instanceof CacheError && end.code === 'OVERLOADED') {
    events.emit('overloaded', { key, queued: source.queued, source: source.name })
  }
  return end
}
