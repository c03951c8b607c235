import { setTimeout as pause } from 'node:timers/promises'
import type { FleetProcess } from '../support/fleet-process.ts'
import type { Happening } from '../support/history.ts'
import type { Network } from '../support/network.ts'
import type { Proxy } from '../support/proxy.ts'
import { isHot, isHuge, type Opening, type Rest, type Work } from './work.ts'

/**
 * What lies between a process and its servers: a proxy for each of its connections to one server, or a network of them
 * to a group of servers, or nothing.
 */
export interface Way {
  readonly commands?: Proxy
  readonly subscriber?: Proxy
  readonly network?: Network
}

/** A process of the fleet, in the hands of a fault. */
export class Process {
  readonly number: number
  readonly #way: Way
  readonly #process: FleetProcess
  readonly #note: (happening: Happening) => void
  readonly #now: () => number
  readonly #loading = new Map<string, number>()
  readonly #waitingForHuge = new Set<string>()
  #hugeAnswers = 0
  #hasLostLease = false
  #work: Work
  #killed = false

  constructor(
    process: FleetProcess,
    { way, work, note, now }: { way: Way; work: Work; note: (happening: Happening) => void; now: () => number },
  ) {
    this.number = process.index
    this.#way = way
    this.#process = process
    this.#note = note
    this.#now = now
    this.#work = work
  }

  get pid(): number {
    return this.#process.pid
  }

  /** Whether it was ended as a crash would, and could give nothing back. */
  get killed(): boolean {
    return this.#killed
  }

  /** All that lies between it and its servers. */
  get way(): readonly (Proxy | Network)[] {
    return Object.values(this.#way)
  }

  /** The way of its commands, where there is one server. */
  get commands(): Proxy {
    return given(this.#way.commands)
  }

  /** The way of the messages to it, where there is one server. */
  get subscriber(): Proxy {
    return given(this.#way.subscriber)
  }

  /** Whether it loads what others ask for too, with a lease and for longer than usual, so that it will go on for a while. */
  get loads(): boolean {
    const longAgo = this.#now() - 1.5 * this.#work.loadTime[1]
    return [...this.#loading.values()].some((began) => began < longAgo)
  }

  /** Whether a load of what others ask for, too, has lost its lease. */
  get hasLostLease(): boolean {
    return this.#hasLostLease
  }

  /** How many of its callers have got a huge value. */
  get hugeAnswers(): number {
    return this.#hugeAnswers
  }

  /** What it says of itself goes through here. */
  heard(happenings: readonly Happening[]): void {
    for (const happening of happenings) {
      if (happening.what === 'call' && isHuge(happening.key)) this.#waitingForHuge.add(happening.call)
      if (happening.what === 'answer' && this.#waitingForHuge.delete(happening.call) && happening.value !== undefined)
        this.#hugeAnswers++
      if (happening.what === 'load' && happening.fence !== null && isHot(happening.key))
        this.#loading.set(happening.load, happening.at)
      if (happening.what === 'lost' && this.#loading.has(happening.load) && happening.code === 'LEASE_LOST')
        this.#hasLostLease = true
      if (happening.what === 'loaded' || happening.what === 'lost') this.#loading.delete(happening.load)
      this.#note(happening)
    }
  }

  async open(opening: Opening): Promise<void> {
    await this.#process.ready
    await this.#process.tell('open', opening)
  }

  async begin(): Promise<void> {
    await this.#process.tell('begin')
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    this.#killed = true
    this.#note({ what: 'killed', at: this.#now(), process: this.number })
    await this.#process.kill()
  }

  /** Lets it stand still until `resume`; it notes so itself when it goes on. */
  pause(): void {
    this.#process.pause()
  }

  resume(): void {
    this.#process.resume()
  }

  /** Keeps its event loop from turning for so long. */
  async block(ms: number): Promise<void> {
    await this.#process.block(ms)
  }

  /** Lets it go on with its work in another way. */
  async adjust(change: Partial<Work>): Promise<void> {
    this.#work = { ...this.#work, ...change }
    await this.#process.tell('adjust', { work: this.#work })
  }

  /** Writes a key, besides all that it does anyway. Resolves when it has been told whether it was written. */
  async write(kind: 'set' | 'invalidate', key: string, ttl?: number): Promise<void> {
    await this.#process.tell('write', { kind, key, ttl })
  }

  /** Resolves when its client is connected to a master: an outage lasts until then, and the pauses of a client grow to 5 s. */
  async connected(): Promise<void> {
    await this.#process.tell('connected')
  }

  /** Lets its wall clock be wrong by so much. */
  async shiftDate(ms: number): Promise<void> {
    await this.#process.tell('shiftDate', { ms })
  }

  /** Closes its cache; it asks no more. */
  async close(timeout: number): Promise<void> {
    await this.#process.tell('close', { timeout })
  }

  /** The bytes its values take in memory once all garbage is gone. */
  async heap(): Promise<number> {
    return await this.#process.heap()
  }

  /** Lets it answer all its callers, close all it has, and end. Resolves with what is left, and what it complained of. */
  async finish(): Promise<Rest & { complaint: string }> {
    const rest = (await this.#process.tell('finish')) as Rest
    const ended = this.#process.ended().then(() => true)
    if (await Promise.race([ended, pause(60_000, false, { ref: false })]))
      return { ...rest, complaint: await this.#process.complaint() }
    await this.#process.kill()
    return { ...rest, complaint: 'It did not end by itself' }
  }
}

function given(proxy: Proxy | undefined): Proxy {
  if (proxy === undefined) throw new TypeError('Expected a process with a way of its own to one server')
  return proxy
}
