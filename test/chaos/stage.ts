import { fileURLToPath } from 'node:url'
import { until } from '../../tools/until.mjs'
import type { ConnectOptions } from '../support/clients.ts'
import { ProcessStarter } from '../support/fleet-process.ts'
import { player, type Happening, type SeenLease } from '../support/history.ts'
import { Process } from './process.ts'
import { Random } from './random.mjs'
import { Sampler } from './sampler.ts'
import { client, inForce } from './settings.ts'
import { surroundingsOf, type Kind, type Servers, type Surroundings } from './surroundings.ts'
import { unnoticed } from './unnoticed.mjs'
import { namespace, type Notes, type Work } from './work.ts'

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))

export interface StageShape {
  readonly seed: number
  /** How many processes there are; 4 by default. */
  readonly processes?: number
  /** How many calls all of them make in a second; 400 by default. */
  readonly rate?: number
  /** How they work. */
  readonly work: Work
  /** Whether the victim reaches several servers through a network of its own. */
  readonly network?: boolean
  /** Whether the memory of its processes is looked at again and again. */
  readonly sampled?: boolean
  /** What the client of a process is told besides, by the place of the process; not on a cluster. */
  readonly client?: (place: number) => ConnectOptions
  /** Is given all that happens, not quite in its order. */
  readonly note: (happening: Happening) => void
}

/** Servers and the fleet on them: what a fault is done to. */
export class Stage<On extends Kind = Kind> {
  readonly random: Random
  /** The processes there are now. Whoever has the first place is the victim of what is done to one of them. */
  readonly processes: Process[] = []
  readonly work: Work
  readonly #surroundings: Surroundings<On>
  readonly #starter: ProcessStarter
  readonly #shape: StageShape
  readonly #sampler: Sampler
  readonly #pulse: NodeJS.Timeout
  /** All processes that there ever were, by their numbers. */
  readonly #all = new Map<number, Process>()
  readonly #origin: bigint = process.hrtime.bigint()
  readonly #counts = new Map<string, number>()
  readonly #events = new Map<string, number>()
  readonly #left: string[] = []
  #longestLease: number

  private constructor(surroundings: Surroundings<On>, starter: ProcessStarter, shape: StageShape) {
    const { seed, processes = 4, rate = 400, work } = shape
    this.#surroundings = surroundings
    this.#starter = starter
    this.#shape = shape
    this.random = new Random(seed)
    this.work = { ...work, rate: rate / processes }
    this.#longestLease = inForce(this.work).leaseTtl
    this.#sampler = new Sampler({
      masters: () => surroundings.masters(),
      processOf: (pid) => [...this.#all.values()].find((each) => each.pid === pid)?.number ?? null,
      now: () => this.now(),
      note: (happening) => shape.note(happening),
    })
    this.#pulse = this.#feelPulse()
  }

  /** Starts the servers and the processes; resolves when these work. */
  static async set<On extends Kind>(on: On, shape: StageShape): Promise<Stage<On>> {
    const starter = await ProcessStarter.open(worker)
    const surroundings = await surroundingsOf(on, { network: shape.network ?? false }).catch(async (error: unknown) => {
      await starter.stop()
      throw error
    })
    const stage = new Stage(surroundings, starter, shape)
    try {
      await Promise.all(Array.from({ length: shape.processes ?? 4 }, (_, place) => stage.#fill(place)))
      return stage
    } catch (error) {
      await stage.stop()
      throw error
    }
  }

  get servers(): Servers[On] {
    return this.#surroundings.servers
  }

  get victim(): Process {
    return this.processes[0] as Process
  }

  get others(): Process[] {
    return this.processes.slice(1)
  }

  /**
   * How long a fault lasts, drawn anew each time, in milliseconds: longer than the deadline of a command, and than a lease
   * lives without renewal.
   */
  get lasts(): number {
    return this.random.between(1_000, 1_500)
  }

  /** Milliseconds since the stage was set, by the clock that the processes go by, too. */
  now(): number {
    return Number(process.hrtime.bigint() - this.#origin) / 1e6
  }

  /** Notes that something is done to the surroundings, or is over. */
  note(what: 'fault' | 'healed', name: string): void {
    this.#shape.note({ what, at: this.now(), name })
  }

  /** Counts something that the fault has done, for it to prove that it bit. */
  count(what: string, by = 1): void {
    this.#counts.set(what, this.counted(what) + by)
  }

  counted(what: string): number {
    return this.#counts.get(what) ?? 0
  }

  /** How often an event was heard in the processes that have finished. */
  heard(event: string): number {
    return this.#events.get(event) ?? 0
  }

  /** Puts a fresh process in the place of one that was killed. */
  async replace(gone: Process): Promise<void> {
    await this.#fill(this.processes.indexOf(gone))
  }

  /** Lets a process end in order, and puts a fresh one in its place. */
  async retire(old: Process): Promise<void> {
    this.#left.push(...(await this.#finish(old)))
    await this.replace(old)
  }

  /** Lets all processes work in another way. */
  async adjust(change: Partial<Work>): Promise<void> {
    this.#longestLease = Math.max(this.#longestLease, inForce({ ...this.work, ...change }).leaseTtl)
    await Promise.all(this.processes.map((each) => each.adjust(change)))
  }

  /** Lets all processes end in order. Resolves with what is left that should not be, in words. */
  async finish(): Promise<string[]> {
    const left = await Promise.all(this.processes.map((each) => this.#finish(each)))
    return [...this.#left, ...left.flat(), ...(await this.#keysLeft())]
  }

  /** Notes when this process, and with it what lies between the others and their servers, has stood still. */
  #feelPulse(): NodeJS.Timeout {
    let last = this.now()
    return setInterval(() => {
      const at = this.now()
      if (at - last > unnoticed) {
        this.#shape.note({ what: 'stopped', at: last, process: player })
        this.#shape.note({ what: 'resumed', at, process: player })
      }
      last = at
    }, 5)
  }

  /** Starts a process; resolves when it works. */
  async #fill(place: number): Promise<void> {
    const { redis, way } = await this.#surroundings.connect(place)
    const started = await this.#starter.start<Notes>(({ notes }) => added.heard(notes))
    const { note, seed, client: own = () => ({}) } = this.#shape
    const added = new Process(started, { way, work: this.work, note, now: () => this.now() })
    // On a cluster, node-redis 5 does not notice that a master has died.
    const onlyNew = process.env['EVERY_CLIENT'] !== 'yes' || (redis.nodes !== undefined && client() === 'node-redis')
    const older = added.number % 2 === 0 || onlyNew ? {} : ({ older: true } as const)
    const spec = { ...redis, ...older, ...(redis.options && { options: { ...redis.options, ...own(place) } }) }
    this.#all.set(added.number, added)
    const otherwise = inForce(this.work)
    await added.open({
      redis: spec,
      work: this.work,
      otherwise,
      seed: seed * 1_000 + added.number,
      origin: String(this.#origin),
    })
    // The first look disturbs a process: it is given a huge reply.
    if (this.#shape.sampled === true) await added.heap()
    await added.begin()
    this.processes[place] = added
  }

  /** Lets one process end in order. Resolves with what it leaves behind that should not be, in words. */
  async #finish(each: Process): Promise<string[]> {
    const { events, warnings, sentAfterwards, resources, complaint } = await each.finish()
    for (const [name, count] of Object.entries(events)) this.#events.set(name, this.heard(name) + count)
    const said = [...warnings, ...(complaint === '' ? [] : [complaint])]
    return [
      ...said.map((words) => `7: process ${each.number} said: ${words}`),
      ...sentAfterwards.map((command) => `7: process ${each.number} sent ${command} when all was closed`),
      ...(resources.length > 0
        ? [`7: process ${each.number} still has ${resources.join(', ')} when all is closed`]
        : []),
    ]
  }

  /** Ends all at once. */
  async stop(): Promise<void> {
    clearInterval(this.#pulse)
    await this.#starter.stop()
    await this.#sampler.stop()
    await this.#surroundings.stop()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** The keys of ours that do not expire in time, and the leases of processes that have ended in order. */
  async #keysLeft(): Promise<string[]> {
    const orphans = async (): Promise<SeenLease[]> => {
      const held = (await this.#sampler.leases()) ?? []
      // Who was killed could give nothing back.
      return held.filter(({ process }) => process === null || !this.#all.get(process)?.killed)
    }
    await until('all leases are given back', async () => (await orphans()).length === 0, 500).catch(() => {})
    const held = (await orphans()).map(({ key, token }) => `9: ${key} has the lease ${token} when all have ended`)
    const remembered = 1_000
    const keys = [...(await this.#keys())].flatMap(([key, left]) => {
      if (left === -1) return [`7: ${key} does not expire`]
      // What was written before the clock of Redis was set back is cut to its length when its key is next asked for.
      const bounded = key.endsWith(':lease') && this.counted('clock set back') === 0
      return bounded && left > this.#longestLease + remembered ? [`7: ${key} stays for ${left} ms more`] : []
    })
    return [...held, ...keys]
  }

  /** The keys of ours, with the milliseconds that they have left. */
  async #keys(): Promise<Map<string, number>> {
    const found = new Map<string, number>()
    for (const { client } of await this.#surroundings.masters()) {
      const keys = await client.keys(`{${namespace}:*`)
      const left = await Promise.all(keys.map((key) => client.pttl(key)))
      for (const [index, key] of keys.entries()) found.set(key, left[index] ?? -2)
    }
    return found
  }
}
