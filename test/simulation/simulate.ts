import { planOf } from '../../src/core/options/plan.ts'
import { createCache } from '../../src/index.ts'
import {
  virtualFleet,
  type VirtualEvent,
  type VirtualFleet,
  type VirtualProcess,
  type VirtualTrouble,
} from '../../src/testing/index.ts'
import { Random } from '../../src/testing/virtual-fleet/random.ts'
import type { Notes } from './notes.ts'
import { Player, type Member, type Present } from './player.ts'
import type { Fault, Network, Operation, Schedule } from './schedule.ts'
import { healedAt, healsWithin } from './surroundings.ts'
import { traced } from './traced.ts'
import { Witness, type Confirmation } from './witness.ts'

/** What a run left behind, to be judged and told. */
export interface Run {
  readonly schedule: Schedule
  readonly notes: Notes
  /** When all must be normal again. */
  readonly settledAt: number
  /** The calls of the last round, after that. */
  readonly lastRound: ReadonlySet<string>
  /** Of each process, when it was told that it has a lease. */
  readonly confirmed: ReadonlyMap<number, readonly Confirmation[]>
  /** Of each process, when it sent what. */
  readonly sent: ReadonlyMap<number, Witness['sent']>
  /** Of each process, how many users of the source it was told of. */
  readonly usersKnown: ReadonlyMap<number, Witness['usersKnown']>
  /** How often what happened on the ways to the store. */
  readonly counts: Readonly<Record<string, number>>
  /** What the ways to the store told, if they were asked to. */
  readonly told: readonly { at: number; process: number; what: string }[]
  /** What is left that nobody looks after any more, in words. */
  readonly leaks: readonly string[]
}

interface Node extends Member {
  readonly process: VirtualProcess
  readonly witness: Witness
}

/** Has a fleet live through a schedule, on virtual time: the same way each time. */
export async function simulate(schedule: Schedule, { tell = false }: { tell?: boolean } = {}): Promise<Run> {
  const rejections: string[] = []
  const rejected = (reason: unknown): void => void rejections.push(String(reason))
  process.on('unhandledRejection', rejected)
  try {
    const run = await new Simulation(schedule, tell).run()
    return { ...run, leaks: [...run.leaks, ...rejections.map((reason) => `nobody handled the rejection: ${reason}`)] }
  } finally {
    process.off('unhandledRejection', rejected)
  }
}

class Simulation {
  readonly #schedule: Schedule
  readonly #tell: boolean
  readonly #fleet: VirtualFleet
  readonly #nodes: readonly Node[]
  readonly #player: Player
  /** Those that have begun, and whom they have met. */
  readonly #faults: Fault[] = []
  readonly #told: { at: number; process: number; what: string }[] = []
  readonly #counts: Record<string, number> = {}

  constructor(schedule: Schedule, tell: boolean) {
    const { seed, options, network } = schedule
    this.#schedule = schedule
    this.#tell = tell
    this.#fleet = virtualFleet({
      processes: schedule.processes,
      seed,
      latency: latencyOf(network),
      ordered: network.ordered,
      trouble: troubleOf(network),
      store: { max: schedule.most },
      trace: (event) => this.#note(event),
    })
    const now = (): number => this.#now()
    this.#player = new Player({
      now,
      plan: planOf(options),
      present: () => this.#present(),
      tagged: schedule.tagged,
    })
    this.#nodes = this.#fleet.processes.map((process) => {
      const { number, clock, store } = process
      const witness = new Witness(store, { network, random: new Random(seed, 'witness', number), now })
      const cache = createCache({ ...options, warnings: false, clock, store: witness })
      return { number, process, witness, cache, pause: (ms: number) => process.sleep(ms) }
    })
  }

  async run(): Promise<Run> {
    const { operations, faults, network } = this.#schedule
    const troubled = network.lost + network.cut > 0
    if (troubled) this.#fault('trouble')
    for (const operation of operations) this.#fleet.clock.after(operation.at, () => this.#perform(operation))
    for (const [index, fault] of faults.entries()) this.#fleet.clock.after(fault.at, () => this.#break(fault, index))
    await this.#fleet.advance(healedAt(this.#schedule))
    this.#fleet.trouble(lasting(this.#schedule.network))
    if (troubled) this.#healed('trouble')
    // Beyond the patience of every caller.
    for (let seconds = 0; seconds < 70 && this.#awaited(); seconds++) await this.#fleet.advance(1_000)
    await this.#fleet.advance(healsWithin(this.#schedule))
    const settledAt = this.#player.at()
    await this.#peek()
    const lastRound = await this.#ask()
    await this.#close()
    return {
      schedule: { ...this.#schedule, faults: this.#faults },
      notes: this.#player,
      settledAt,
      lastRound,
      confirmed: new Map(this.#nodes.map(({ number, witness }) => [number, witness.confirmed])),
      sent: new Map(this.#nodes.map(({ number, witness }) => [number, witness.sent])),
      usersKnown: new Map(this.#nodes.map(({ number, witness }) => [number, witness.usersKnown])),
      counts: this.#counts,
      told: this.#told,
      leaks: this.#leaks(),
    }
  }

  #now(): number {
    return this.#fleet.clock.now()
  }

  /** Whether somebody who lives waits for an answer. */
  #awaited(): boolean {
    return this.#nodes.some(({ number, process }) => process.state !== 'killed' && this.#player.open(number) > 0)
  }

  #perform(operation: Operation): void {
    const node = this.#node(operation.process)
    void node.process.run(() => {
      if (!this.#player.closing.has(node.number)) return this.#player.perform(operation, node)
    })
  }

  *#present(): Iterable<Present> {
    for (const node of this.#living()) yield { member: node, ask: (run) => void node.process.run(run) }
  }

  #living(): Node[] {
    return this.#nodes.filter(({ number, process }) => process.state !== 'killed' && !this.#player.closing.has(number))
  }

  #break(given: Fault, index: number): void {
    const fault = 'aimed' in given && given.aimed ? { ...given, process: this.#loading() ?? given.process } : given
    this.#faults.push(fault)
    const name = `${fault.what} ${index}`
    const process = 'process' in fault ? this.#node(fault.process).process : null
    const heals = this.#begin(fault, process)
    if (heals === null) return
    this.#fault(name)
    this.#fleet.clock.after(fault.lasts, () => {
      heals()
      this.#healed(name)
      // Whoever was left with a lease, or without one, is found out now.
      for (const key of this.#schedule.keys) this.#player.askAll(key, { takes: 20, ends: 'value' })
    })
  }

  /** A process that runs a loader with a lease. */
  #loading(): number | undefined {
    const running = new Map<string, number>()
    for (const happening of this.#player.happenings) {
      if (happening.what === 'load' && happening.fence !== null) running.set(happening.load, happening.process)
      if (happening.what === 'loaded' || happening.what === 'lost') running.delete(happening.load)
    }
    return [...running.values()].at(-1)
  }

  /** Does it; returns what undoes it, or `null` where it cannot be done. */
  #begin(fault: Fault, process: VirtualProcess | null): (() => void) | null {
    switch (fault.what) {
      case 'cut off':
        return this.#node(fault.process).process.partition(fault.how)
      case 'stopped': {
        if (process?.state !== 'running') return null
        process.pause()
        this.#player.happenings.push({ what: 'stopped', at: this.#player.at(), process: process.number })
        return () => {
          if (process.state === 'killed') return
          this.#player.happenings.push({ what: 'resumed', at: this.#player.at(), process: process.number })
          process.resume(fault.first)
        }
      }
      case 'killed':
        if (process === null || process.state === 'killed' || this.#player.closing.has(process.number)) return null
        process.kill()
        this.#player.happenings.push({ what: 'killed', at: this.#player.at(), process: process.number })
        return () => undefined
      case 'store away':
        return this.#fleet.server.stop(fault.how)
      case 'store wiped':
        this.#fleet.server.wipe()
        return () => undefined
      case 'lease evicted':
        void this.#fleet.server.evictLease(fault.key)
        return () => undefined
      case 'clock set':
        this.#fleet.server.shiftClock(fault.by)
        return () => undefined
    }
  }

  /** When all is normal, every process looks at every key. */
  async #peek(): Promise<void> {
    for (const node of this.#living()) {
      for (const key of this.#schedule.keys) void this.#player.peek(node, key)
    }
    await this.#fleet.advance(1_000)
  }

  /** Then every process asks at once for every key, of which nobody has a value. */
  async #ask(): Promise<Set<string>> {
    const before = new Set(this.#player.asked.keys())
    const [first] = this.#living()
    const at = this.#now()
    for (const key of this.#schedule.keys) {
      this.#perform({
        at,
        process: first?.number ?? 1,
        what: 'invalidate',
        by: 'key',
        soft: false,
        key,
        // So long that all that a source allows run together.
        loader: { takes: this.#schedule.limits === null ? 20 : 150, ends: 'value', ttl: 60_000 },
      })
    }
    await this.#fleet.advance(10_000)
    return new Set([...this.#player.asked.keys()].filter((call) => !before.has(call)))
  }

  async #close(): Promise<void> {
    for (const node of this.#living()) void this.#player.close(node, 5_000)
    // What a loader that hangs still waits for, a release of a timer in the last second.
    await this.#fleet.advance(60_000)
  }

  #leaks(): string[] {
    const waiting = this.#nodes.filter(({ process, witness }) => process.state !== 'killed' && witness.waiting > 0)
    return [
      ...(this.#fleet.pending > 0 ? [`${this.#fleet.pending} timers are left`] : []),
      ...waiting.map(({ number, witness }) => `process ${number} has not left ${witness.waiting} waits`),
    ]
  }

  #note(event: VirtualEvent): void {
    const what = event.how === 'lost' && event.what === 'message' ? 'lost message' : event.how
    this.#counts[what] = (this.#counts[what] ?? 0) + 1
    if (this.#tell) this.#told.push({ at: this.#player.at(), process: event.process, what: traced(event) })
  }

  #fault(name: string): void {
    this.#player.happenings.push({ what: 'fault', at: this.#player.at(), name })
  }

  #healed(name: string): void {
    this.#player.happenings.push({ what: 'healed', at: this.#player.at(), name })
  }

  #node(number: number): Node {
    const node = this.#nodes[number - 1]
    if (node === undefined) throw new Error(`There is no process ${number}`)
    return node
  }
}

/** Mostly as short as it gets, and now and then so long that everything else comes first. */
function latencyOf({ distance }: Network): (random: () => number) => number {
  return (random) => Math.round(random() * distance * (random() * 100 < 15 ? 5 : 0.3))
}

function troubleOf(network: Network): VirtualTrouble {
  const { lost, cut, resent, reconnect } = network
  return { lost: lost / 100, cut: cut / 100, repeated: resent / 100, reconnect, ...lasting(network) }
}

/** What a schedule's network does even when all has healed. */
function lasting({ lostMessages }: Network): VirtualTrouble {
  return { lostMessages: lostMessages / 100 }
}
