import type { Clock } from '../../core/time/clock.ts'
import { longestTimer, parseDuration, formatValue, type Duration } from '../../core/time/duration.ts'
import { namespacePrefix } from '../../core/entry/key.ts'
import { fleetPlan, type FleetPlan, type VirtualFleetOptions } from './fleet-plan.ts'
import { Process } from './process.ts'
import { Random } from './random.ts'
import { VirtualClock } from './virtual-clock.ts'
import { FleetProcess, type VirtualProcess } from './virtual-process.ts'
import { Server, type VirtualServer } from './virtual-server.ts'
import { checkedTrouble, type VirtualTrouble } from './virtual-trouble.ts'
import { Way, type Network } from './way.ts'

/** Processes with a common store on one virtual clock. Made by `virtualFleet`. */
export interface VirtualFleet<Count extends number = number> extends AsyncDisposable {
  readonly processes: Several<Count, VirtualProcess>
  /** The store of all processes. */
  readonly server: VirtualServer
  /** The clock for the test itself; it runs timers even while processes are paused or killed. */
  readonly clock: Clock
  /** The number of timers that are set, and of commands and messages under way. */
  readonly pending: number

  /** Lets time pass: every due event happens at its moment, one after the other. */
  advance(duration: Duration): Promise<void>

  /**
   * Lets time pass until `promise` has settled, and stops at that moment.
   * @param options.within the longest time; default `'1h'`
   * @returns the result of the promise
   * @throws the error of the promise; Error if no event is left that could settle it, or if it takes too long
   */
  until<T>(promise: PromiseLike<T>, options?: { readonly within?: Duration }): Promise<T>

  /** Replaces the faults of the network from now on; `{}` for none. */
  trouble(trouble: VirtualTrouble): void

  /** Kills all processes. Promises that still wait for them never settle. */
  close(): Promise<void>
}

/** A tuple of this length if the number is known, so that its members can be destructured. */
export type Several<Count extends number, Item, Made extends readonly Item[] = readonly []> = number extends Count
  ? readonly Item[]
  : Made['length'] extends Count
    ? Made
    : Several<Count, Item, readonly [...Made, Item]>

/**
 * A simulated fleet for testing code that uses a `Cache` or a `Lock`, in virtual time: its processes can be paused,
 * killed and cut off from their store. All code is that of production, except the store and the network.
 *
 *     const fleet = virtualFleet({ processes: 2, seed: 7 })
 *     const [a, b] = fleet.processes
 *     const answer = a.cache.getOrLoad('k', async () => {
 *       await a.sleep('200ms')
 *       return 'v'
 *     })
 *     assert.equal(await fleet.until(answer), 'v')
 *
 * Runs with the same seed are the same, as long as the code under test waits only for the clock, the cache or the lock
 * of its process. Tokens differ.
 * @throws TypeError for an unknown option or a wrong value
 */
export function virtualFleet<const Count extends number = 3>(
  options: VirtualFleetOptions<Count> = {},
): VirtualFleet<Count> {
  return new Fleet<Count>(fleetPlan(options))
}

class Fleet<Count extends number> implements VirtualFleet<Count> {
  readonly processes: Several<Count, VirtualProcess>
  readonly server: Server
  readonly #clock = new VirtualClock()
  readonly #network: Network
  readonly #all: readonly VirtualProcess[]
  #passing = false

  constructor(plan: FleetPlan) {
    const { seed, latency, ordered, trouble, trace } = plan
    const world = this.#clock
    const namespace = namespacePrefix(plan.cachePlan.namespace)
    const server = new Server(world, plan.store, (key) => namespace + key)
    const network: Network = { latency, ordered, trouble }
    this.#all = Array.from({ length: plan.processes }, (_, index) => {
      const number = index + 1
      // A random source per process, so that the draws of one do not change those of the others.
      const process = new Process(number, world, new Random(seed, 'process', number).next)
      const way = new Way(process, { world, network, random: new Random(seed, 'route', number), trace })
      server.ways.push(way)
      return new FleetProcess({ process, way, server, plan })
    })
    this.processes = this.#all as Several<Count, VirtualProcess>
    this.server = server
    this.#network = network
  }

  get clock(): Clock {
    return this.#clock
  }

  get pending(): number {
    return this.#clock.pending
  }

  async advance(duration: Duration): Promise<void> {
    const ms = parseDuration('duration', duration, { least: 0, most: longestTimer })
    await this.#pass(() => this.#clock.advance(ms))
  }

  async until<T>(promise: PromiseLike<T>, { within = '1h' }: { readonly within?: Duration } = {}): Promise<T> {
    if (typeof (promise as { then?: unknown } | null)?.then !== 'function') {
      throw new TypeError(`Expected a promise to wait for, got ${formatValue(promise)}`)
    }
    const most = parseDuration('within', within, { most: longestTimer })
    const how = await this.#pass(() => this.#clock.until(promise, most))
    if (how === 'settled') return await promise
    const why = how === 'too long' ? `within ${most} ms` : 'and nothing is left to happen'
    throw new Error(`The promise has not settled, ${why}${this.#inStates()}`)
  }

  trouble(trouble: VirtualTrouble): void {
    this.#network.trouble = checkedTrouble('trouble', trouble)
  }

  async close(): Promise<void> {
    for (const process of this.#all) process.kill()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Only one caller at a time may let time pass: two would take each other's due events. */
  async #pass<T>(run: () => Promise<T>): Promise<T> {
    if (this.#passing) throw new Error('Time is passing already: await `advance` or `until` before the next one')
    this.#passing = true
    try {
      return await run()
    } finally {
      this.#passing = false
    }
  }

  #inStates(): string {
    const others = this.#all.filter(({ state }) => state !== 'running')
    return others.map(({ number, state }) => `; process ${number} is ${state}`).join('')
  }
}
