import { oneOf } from '../../core/options/checks.ts'
import type { Clock } from '../../core/time/clock.ts'
import { formatValue } from '../../core/time/duration.ts'
import type { Process } from './process.ts'
import type { Random } from './random.ts'
import type { Trouble } from './virtual-trouble.ts'

/**
 * A kind of interruption: messages in both directions arrive when it ends (`'stall'`) or never (`'drop'`), or every
 * command is rejected at once (`'refuse'`).
 */
export type Silence = 'stall' | 'drop' | 'refuse'

const silence = oneOf('stall', 'drop', 'refuse')

/** The network of a fleet. */
export interface Network {
  /** Draws the delay of one direction, in milliseconds. */
  readonly latency: (random: () => number) => number
  /** Whether messages arrive in the order of sending. */
  readonly ordered: boolean
  trouble: Trouble
}

/** The fate of a command under way. */
type Fate = 'arrives' | 'lost there' | 'lost back' | 'cut there' | 'cut back' | 'sent twice'

/** An event between a process and the store. */
export interface VirtualEvent {
  /** The moment, by the fleet's clock. */
  readonly at: number
  /** The number of the process. */
  readonly process: number
  /** A command with its key and its number in the process, such as `fill product:42 #7`; or `message`. */
  readonly what: string
  /** `'sent'`, or the fault that the command will meet; later, its result. */
  readonly how: 'sent' | Exclude<Fate, 'arrives'> | 'refused' | 'carried out' | 'failed' | 'too late' | 'lost'
  /** The store's answer to the command, or its error. */
  readonly answer?: unknown
}

/** The further handling of an answer. */
interface Answered<T> {
  /** Ages an answer by the milliseconds since it was given. */
  readonly aged?: (answer: T, ms: number) => T
  /** Handles an answer that never arrives. */
  readonly unheard?: (answer: T) => void
}

type Lane = 'there' | 'back' | 'message'

/** The connection of one process to the store, with its delays and losses. */
export class Way {
  readonly #process: Process
  readonly #world: Clock
  readonly #network: Network
  readonly #random: Random
  readonly #trace: (event: VirtualEvent) => void
  readonly #blocks = new Map<symbol, Silence>()
  readonly #stalled: (() => void)[] = []
  readonly #latest: Record<Lane, number> = { there: 0, back: 0, message: 0 }
  readonly #whenOpen = new Set<() => void>()
  #commands = 0

  constructor(
    process: Process,
    around: { world: Clock; network: Network; random: Random; trace: (event: VirtualEvent) => void },
  ) {
    this.#process = process
    this.#world = around.world
    this.#network = around.network
    this.#random = around.random
    this.#trace = around.trace
  }

  /** Whether an interruption is in effect. */
  get blocked(): boolean {
    return this.#blocks.size > 0
  }

  /** Calls `run` each time the last interruption ends; returns a function that stops it. */
  whenOpen(run: () => void): () => void {
    this.#whenOpen.add(run)
    return () => void this.#whenOpen.delete(run)
  }

  /** Interrupts the connection until the returned function is called; then stalled messages go on. */
  block(how: Silence): () => void {
    silence('how', how)
    const block = Symbol(how)
    this.#blocks.set(block, how)
    return () => {
      if (this.#blocks.delete(block) && !this.blocked) for (const run of this.#whenOpen) run()
      if (!this.#is('drop') && !this.#is('stall')) for (const go of this.#stalled.splice(0)) go()
    }
  }

  /** Carries out a command on the server. Resolves with its answer, rejects, or never settles. */
  carry<T>(command: string, run: () => Promise<T>, answered: Answered<T> = {}): Promise<T> {
    const what = `${command} #${++this.#commands}`
    // A paused process sends nothing until it resumes, a killed one nothing any more.
    return new Promise((resolve, reject) =>
      this.#process.receive(() => this.#send({ what, run, resolve, reject, ...answered })),
    )
  }

  /** Resolves with a message of the server once it has arrived. */
  message<T>(said: Promise<T>, isSent: () => boolean = () => true): Promise<T> {
    return new Promise((resolve) => {
      void said.then((message) => {
        if (!isSent()) return
        const lost = this.#drawn(this.#network.trouble.lostMessages) || this.#is('refuse')
        this.#leg('message', 'message', lost, () => this.#process.receive(() => resolve(message)))
      })
    })
  }

  /** Reports an event. */
  say(what: string, how: VirtualEvent['how'], answer?: unknown): void {
    const event = { at: this.#world.now(), process: this.#process.number, what, how }
    this.#trace(answer === undefined ? event : { ...event, answer })
  }

  #send<T>(sent: Sent<T>): void {
    const { what, run, resolve, reject, aged = (answer) => answer, unheard } = sent
    const fate = this.#fate()
    if (this.#is('refuse')) {
      this.say(what, 'refused')
      return reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
    }
    this.say(what, fate === 'arrives' ? 'sent' : fate)
    const home = (settle: () => void): void =>
      this.#leg('back', what, fate === 'lost back', () => this.#process.receive(settle))
    const broken = (): void => reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
    const arrive = (dropped: boolean): void => {
      if (this.#is('refuse')) return home(broken)
      const ranAt = this.#world.now()
      run().then(
        (answer) => {
          this.say(what, 'carried out', answer)
          if (dropped || fate === 'lost back' || fate === 'cut back') unheard?.(answer)
          if (dropped) return
          home(fate === 'cut back' ? broken : () => resolve(aged(answer, this.#world.now() - ranAt)))
        },
        (error: unknown) => {
          this.say(what, 'failed', error)
          if (!dropped) home(() => reject(error))
        },
      )
    }
    this.#leg('there', what, fate === 'lost there', () => {
      if (fate === 'cut there') return home(broken)
      arrive(fate === 'sent twice')
      if (fate !== 'sent twice') return
      const again = this.#random.between(0, this.#network.trouble.reconnect)
      this.#world.after(again, () => arrive(false))
    })
  }

  #is(how: Silence): boolean {
    return [...this.#blocks.values()].includes(how)
  }

  #drawn(part: number): boolean {
    return this.#random.next() < part
  }

  #fate(): Fate {
    const { lost, cut, repeated } = this.#network.trouble
    const drawn = this.#random.next()
    const where = this.#random.pick('there' as const, 'back' as const)
    if (drawn < lost) return `lost ${where}`
    if (drawn < lost + cut) return `cut ${where}`
    return drawn < lost + cut + repeated ? 'sent twice' : 'arrives'
  }

  #leg(lane: Lane, what: string, lost: boolean, go: () => void): void {
    if (lost || this.#is('drop')) return this.say(what, 'lost')
    if (this.#is('stall')) return void this.#stalled.push(() => this.#leg(lane, what, false, go))
    const now = this.#world.now()
    const ms = this.#network.latency(this.#random.next)
    if (!(ms >= 0))
      throw new TypeError(`Expected \`latency\` to return a number of milliseconds, got ${formatValue(ms)}`)
    const at = this.#network.ordered ? Math.max(this.#latest[lane], now + ms) : now + ms
    this.#latest[lane] = at
    if (at <= now) go()
    else this.#world.after(at - now, go)
  }
}

/** A command with the handling of its answer. */
interface Sent<T> extends Answered<T> {
  readonly what: string
  readonly run: () => Promise<T>
  readonly resolve: (answer: T) => void
  readonly reject: (error: unknown) => void
}
