import type { Clock } from '../../src/core/clock.ts'
import { keyspace } from '../../src/core/key.ts'
import { planOf } from '../../src/core/plan.ts'
import { createCache } from '../../src/index.ts'
import { FakeClock } from '../support/fake-clock.ts'
import type { Notes } from './notes.ts'
import { Player, type Member, type Present } from './player.ts'
import { Process } from './process.ts'
import { Random } from './random.ts'
import { Route, type Confirmation, type Counts } from './route.ts'
import type { Fault, Operation, Schedule } from './schedule.ts'
import { Server } from './server.ts'
import { healedAt, healsWithin } from './surroundings.ts'

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
  readonly sent: ReadonlyMap<number, Route['sent']>
  readonly counts: Readonly<Counts>
  /** What the ways to the store told, if they were asked to. */
  readonly told: readonly { at: number; process: number; what: string }[]
  /** What is left that nobody looks after any more, in words. */
  readonly leaks: readonly string[]
}

/** What stands before every key in the store. */
const prefix = keyspace(planOf({}).namespace)

/** More timers than any run needs: a fleet that goes on for ever is found out. */
const mostTimers = 100_000

interface Node extends Member {
  readonly process: Process
  readonly route: Route
}

/** Has a fleet live through a schedule, on virtual time: the same way each time. */
export async function simulate(schedule: Schedule, { tell = false }: { tell?: boolean } = {}): Promise<Run> {
  const rejections: string[] = []
  const rejected = (reason: unknown): void => void rejections.push(String(reason))
  const drawn = Math.random
  const today = Date.now
  const clock = new FakeClock({ most: mostTimers })
  Math.random = new Random(schedule.seed, 'reask').next
  // The versions of the store begin with it.
  Date.now = () => Math.floor(clock.now())
  process.on('unhandledRejection', rejected)
  try {
    const run = await new Simulation(schedule, clock, tell).run()
    return { ...run, leaks: [...run.leaks, ...rejections.map((reason) => `nobody handled the rejection: ${reason}`)] }
  } finally {
    Math.random = drawn
    Date.now = today
    process.off('unhandledRejection', rejected)
  }
}

class Simulation {
  readonly #schedule: Schedule
  readonly #clock: FakeClock
  readonly #start: number
  readonly #server: Server
  readonly #nodes: readonly Node[]
  readonly #player: Player
  /** Those that have begun, and whom they have met. */
  readonly #faults: Fault[] = []
  readonly #told: { at: number; process: number; what: string }[] = []
  readonly #counts: Counts = {
    commands: 0,
    'lost there': 0,
    'lost back': 0,
    'cut there': 0,
    'cut back': 0,
    'sent twice': 0,
    'lost message': 0,
    'too late': 0,
  }

  constructor(schedule: Schedule, clock: FakeClock, tell: boolean) {
    const { seed, options, network } = schedule
    this.#schedule = schedule
    this.#clock = clock
    this.#start = clock.now()
    this.#server = new Server(clock, schedule.most)
    this.#player = new Player({
      now: () => this.#now(),
      plan: planOf(options),
      present: () => this.#present(),
      tagged: schedule.tagged,
    })
    const say = (process: number, what: string): void => {
      if (tell) this.#told.push({ at: this.#player.at(), process, what })
    }
    this.#nodes = Array.from({ length: schedule.processes }, (_, index) => {
      const number = index + 1
      const process = new Process(number, clock)
      const random = new Random(seed, 'route', number)
      const server = this.#server
      const world: Clock = { now: () => this.#now(), after: (ms, run) => clock.after(ms, run) }
      const route = new Route(process, { server, network, random, world, tell: say, counts: this.#counts })
      const cache = createCache({ ...options, clock: process, store: route })
      return { number, process, route, cache, pause: process.pause }
    })
  }

  async run(): Promise<Run> {
    const { operations, faults, network } = this.#schedule
    const troubled = network.lost + network.cut > 0
    if (troubled) this.#fault('trouble')
    for (const operation of operations) this.#clock.after(operation.at, () => this.#perform(operation))
    for (const [index, fault] of faults.entries()) this.#clock.after(fault.at, () => this.#break(fault, index))
    await this.#clock.advance(healedAt(this.#schedule))
    for (const { route } of this.#nodes) route.healed = true
    if (troubled) this.#healed('trouble')
    // Beyond the patience of every caller.
    for (let seconds = 0; seconds < 70 && this.#awaited(); seconds++) await this.#clock.advance(1_000)
    await this.#clock.advance(healsWithin(this.#schedule))
    const settledAt = this.#player.at()
    await this.#peek()
    const lastRound = await this.#ask()
    await this.#close()
    return {
      schedule: { ...this.#schedule, faults: this.#faults },
      notes: this.#player,
      settledAt,
      lastRound,
      confirmed: new Map(this.#nodes.map(({ number, route }) => [number, route.confirmed])),
      sent: new Map(this.#nodes.map(({ number, route }) => [number, route.sent])),
      counts: this.#counts,
      told: this.#told,
      leaks: this.#leaks(),
    }
  }

  #now(): number {
    return this.#clock.now() - this.#start
  }

  /** Whether somebody who lives waits for an answer. */
  #awaited(): boolean {
    return this.#nodes.some(({ number, process }) => process.state !== 'killed' && this.#player.open(number) > 0)
  }

  #perform(operation: Operation): void {
    const node = this.#node(operation.process)
    node.process.receive(() => {
      if (!this.#player.closing.has(node.number)) void this.#player.perform(operation, node)
    })
  }

  *#present(): Iterable<Present> {
    for (const node of this.#living()) yield { member: node, ask: (run) => node.process.receive(() => void run()) }
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
    this.#clock.after(fault.lasts, () => {
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
  #begin(fault: Fault, process: Process | null): (() => void) | null {
    switch (fault.what) {
      case 'cut off':
        return this.#node(fault.process).route.block(fault.how)
      case 'stopped': {
        if (process?.state !== 'running') return null
        process.stop()
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
      case 'store away': {
        const { how } = fault
        if (how === 'refuse') {
          this.#server.refusals++
          return () => void this.#server.refusals--
        }
        const unblock = this.#nodes.map(({ route }) => route.block(how))
        return () => unblock.forEach((undo) => undo())
      }
      case 'store wiped':
        this.#server.wipe()
        return () => undefined
      case 'lease evicted':
        void this.#server.evictLease(prefix + fault.key)
        return () => undefined
      case 'clock set':
        this.#server.setClock(fault.by)
        return () => undefined
    }
  }

  /** When all is normal, every process looks at every key. */
  async #peek(): Promise<void> {
    for (const node of this.#living()) {
      for (const key of this.#schedule.keys) void this.#player.peek(node, key)
    }
    await this.#clock.advance(1_000)
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
        key,
        loader: { takes: 20, ends: 'value', ttl: 60_000 },
      })
    }
    await this.#clock.advance(10_000)
    return new Set([...this.#player.asked.keys()].filter((call) => !before.has(call)))
  }

  async #close(): Promise<void> {
    for (const node of this.#living()) void this.#player.close(node, 5_000)
    // What a loader that hangs still waits for, a release of a timer in the last second.
    await this.#clock.advance(60_000)
  }

  #leaks(): string[] {
    const waiting = this.#nodes.filter(({ process, route }) => process.state !== 'killed' && route.waiting > 0)
    return [
      ...(this.#clock.pending > 0 ? [`${this.#clock.pending} timers are left`] : []),
      ...waiting.map(({ number, route }) => `process ${number} has not left ${route.waiting} waits`),
    ]
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
