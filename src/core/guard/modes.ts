import { modes, type FleetMode, type Mode } from '../contract/mode.ts'
import type { Clock, Timer } from '../time/clock.ts'
import { longestTimer } from '../time/duration.ts'

/** How often the mode of the fleet is looked at, in milliseconds: a message about it may have been lost. */
const lookEvery = 5_000

/** The arguments of `Modes`. */
interface ModesAbout {
  /** The mode of this process at first. */
  readonly own: Mode
  /** Asks for the mode of the fleet; `null` if there can be none. */
  readonly ask: (() => Promise<FleetMode | null>) | null
  readonly clock: Clock
  /** Another mode is in force. */
  readonly changed: (mode: Mode) => void
}

/** The mode of a cache and its siblings: that of this process, or that of the fleet, whichever is further from `cache`. */
export class Modes {
  readonly #about: ModesAbout
  /** The mode in force: a plain property, because every call reads it. */
  current: Mode
  #own: Mode
  #fleet: FleetMode | null = null
  #end: Timer | null = null
  #next: Timer | null = null
  /** The number of the last look, and of the last that was answered. */
  #asked = 0
  #heard = 0

  constructor(about: ModesAbout) {
    this.#about = about
    this.#own = this.current = about.own
  }

  /** That of the fleet, with the time that was left when it was read. */
  get fleet(): FleetMode | null {
    return this.#fleet
  }

  set own(mode: Mode) {
    this.#own = mode
    this.#judge()
  }

  open(): void {
    if (this.#about.ask === null) return
    void this.look()
    this.#lookLater()
  }

  /** Asks for the mode of the fleet; without an answer, the last one stays. */
  async look(): Promise<void> {
    const { ask } = this.#about
    if (ask === null) return
    const look = ++this.#asked
    try {
      const said = await ask()
      // Closed, or a later look was answered first.
      if (look <= this.#heard) return
      this.#heard = look
      this.#hear(said)
    } catch {
      // Looked at again.
    }
  }

  close(): void {
    this.#heard = Number.POSITIVE_INFINITY
    this.#next?.cancel()
    this.#end?.cancel()
  }

  #lookLater(): void {
    const look = (): void => {
      void this.look()
      this.#lookLater()
    }
    this.#next = this.#about.clock.after(lookEvery, look, 'background')
  }

  #hear(said: FleetMode | null): void {
    this.#end?.cancel()
    this.#end = null
    this.#fleet = said
    // Without a further answer it ends at its time.
    if (said !== null && said.left <= longestTimer) {
      this.#end = this.#about.clock.after(said.left, () => this.#hear(null), 'background')
    }
    this.#judge()
  }

  #judge(): void {
    const fleet = this.#fleet?.mode ?? 'cache'
    const mode = modes.indexOf(fleet) > modes.indexOf(this.#own) ? fleet : this.#own
    if (mode === this.current) return
    this.current = mode
    this.#about.changed(mode)
  }
}
