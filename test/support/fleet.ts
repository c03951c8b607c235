/**
 * A fleet: real processes that share one Redis, each with the built package, and a test that tells them what to do and
 * hears what became of it. However the test process ends, they end too.
 */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { until } from '../../tools/until.mjs'
import type { CacheEvents, CacheOptions, CallOptions, Mode, Peeked } from '../../src/index.ts'
import type { RedisStoreOptions } from '../../src/redis/index.ts'
import type { ConnectOptions } from './clients.ts'
import { ProcessStarter, type FleetProcess } from './fleet-process.ts'

export type { FleetProcess } from './fleet-process.ts'

/** How a cache is made. It travels as JSON, so there are no functions in it. */
export interface CacheSpec {
  readonly redis: RedisSpec
  readonly store?: RedisStoreOptions
  readonly cache?: Omit<CacheOptions, 'store' | 'codec' | 'clock'>
}

/** The client of a cache. */
export interface RedisSpec {
  /** It is of the oldest supported major, which the checkout has only where test/older is installed. */
  readonly older?: true
  readonly options?: ConnectOptions
  /** Makes it a client of a cluster, with that client's own defaults. */
  readonly nodes?: readonly { readonly host: string; readonly port: number }[]
  /** What such a client is given besides. */
  readonly cluster?: {
    readonly natMap?: Record<string, { host: string; port: number }>
    readonly redisOptions?: { readonly socketTimeout: number }
  }
  /** What is different on the connection for the subscription, such as a proxy's port. */
  readonly subscriber?: ConnectOptions
}

export interface FleetShape extends CacheSpec {
  /** How many processes; 2 by default. */
  readonly processes?: number
  /** How many caches each has, every one with clients of its own; 1 by default. */
  readonly cachesEach?: number
  /** What is different for one of them. */
  readonly each?: (member: number) => Partial<CacheSpec>
  /** Whether to wait until all are connected and subscribed, as is the default. */
  readonly connected?: boolean
}

/** What a loader does. It returns a text that no other load returns. */
export interface LoaderSpec {
  /** How long it takes, in milliseconds; without it, until the test says so with `finish` or `fail`. */
  readonly ms?: number
  /** Throws this instead of returning. */
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string | number }
  /** Makes the text at least so long. */
  readonly length?: number
  /** What it says of its value by `ttl`. */
  readonly ttl?: number
  readonly doNotStore?: boolean
}

export interface Question {
  /** How many callers ask; 1 by default. */
  readonly callers?: number
  /** By default one that takes until the test ends it. */
  readonly loader?: LoaderSpec
  readonly options?: Omit<CallOptions, 'signal'>
  /** Spreads the callers over so many milliseconds; by default all ask in one go. */
  readonly over?: number
}

/** What one caller was told, and when, in milliseconds by the clock of this machine. */
export interface Answer {
  readonly startedAt: number
  readonly endedAt: number
  readonly value?: string
  readonly error?: Complaint
}

/** An error as it was seen in another process. */
export interface Complaint {
  readonly name: string
  readonly message: string
  readonly code?: string | number | undefined
  readonly key?: string | undefined
  /** Whether its cause is the very object that a loader of that process threw. */
  readonly own: boolean
  readonly cause?: Pick<Complaint, 'name' | 'message' | 'code'> | undefined
}

/** Callers who have asked. */
export interface Crowd {
  /** What they were told; rejects if their process is killed. */
  readonly answers: Promise<Answer[]>
}

export interface Flood {
  readonly keys: number
  /** Of each key. */
  readonly callers: number
  /** How long each load takes. */
  readonly ms: number
  /** What the keys begin with. */
  readonly prefix: string
  readonly options?: CallOptions
  /** Where each load is a query that takes that time; by default it is a pause. */
  readonly postgres?: object
}

/** What became of a flood: how many got their key's value, another's, and which errors. */
export interface Flooded {
  readonly right: number
  readonly wrong: number
  readonly loads: number
  /** How many queries PostgreSQL has run at a time, as a query saw it. */
  readonly most: number
  readonly errors: Readonly<Record<string, number>>
}

type Report =
  | { load: number; key: string; value: string; fence: string | null; stale: unknown; at: number }
  | { loaded: number; at: number }
  | { aborted: number; code: string; at: number }

/** For caches of tests that are about what happens, and not about when: the machine may stand still for seconds. */
export const patient = { commandTimeout: '30s', hardTimeout: '2m', waitTimeout: '150s', leaseTtl: '2m' } as const

const worker = fileURLToPath(new URL('fleet-worker.mjs', import.meta.url))

/** The processes of a test file, which its fleets use one after the other. */
interface Pool {
  readonly starter: ProcessStarter
  readonly idle: FleetProcess[]
}

let pool: Pool | undefined

/** Lets the fleets of a test file have the same processes, one after the other. Called at the top of the file. */
export function reuseProcesses(): void {
  beforeAll(async () => {
    pool = { starter: await ProcessStarter.open(worker), idle: [] }
  })
  afterAll(async () => {
    await pool?.starter.stop()
    pool = undefined
  })
}

/** Starts a fleet; resolves when it can be told what to do. */
export async function startFleet(shape: FleetShape): Promise<Fleet> {
  const { processes = 2, cachesEach = 1, each = () => ({}), connected = true } = shape
  const fleet = new Fleet(pool ?? { starter: await ProcessStarter.open(worker), idle: null })
  try {
    await fleet.gather(processes)
    for (let number = 0; number < processes * cachesEach; number++) {
      const process = fleet.processes[number % processes] as FleetProcess
      fleet.members.push(new Member(number, process, Math.floor(number / processes)))
    }
    const { redis, store = {}, cache = {} } = shape
    const spec = { redis, store, cache, connected }
    await Promise.all(fleet.members.map((member) => member.open({ ...spec, ...each(member.number) })))
    return fleet
  } catch (error) {
    await fleet.end()
    throw error
  }
}

export class Fleet {
  readonly processes: FleetProcess[] = []
  /** All caches, those of different processes next to each other. */
  readonly members: Member[] = []
  /** All loads, in the order in which this process heard of their start. */
  readonly loads: Load[] = []
  readonly #own: Map<FleetProcess, Map<number, Load>> = new Map()
  readonly #starter: ProcessStarter
  readonly #idle: FleetProcess[] | null

  /** @param from where its processes come from; those in `idle` are used again, and come back there */
  constructor({ starter, idle }: { readonly starter: ProcessStarter; readonly idle: FleetProcess[] | null }) {
    this.#starter = starter
    this.#idle = idle
  }

  /** The members by number, to be taken apart. */
  get [Symbol.iterator](): () => Iterator<Member> {
    return () => this.members[Symbol.iterator]()
  }

  /** Callers in every process, `callers` in each, all at one instant. Resolves when all have asked. */
  async ask(key: string, question: Question = {}, members: readonly Member[] = this.members): Promise<Crowd> {
    const at = Date.now() + 50
    const crowds = await Promise.all(members.map((member) => member.ask(key, question, at)))
    return { answers: settling(Promise.all(crowds.map(({ answers }) => answers)).then((answers) => answers.flat())) }
  }

  /** The load that started as the `number`th of all, from 0, once it has. */
  load(number: number, timeout = 10_000): Promise<Load> {
    return until(`load ${number} starts`, () => this.loads[number], timeout)
  }

  loadsOf(key: string): Load[] {
    return this.loads.filter((load) => load.key === key)
  }

  /** How often an event was heard in all. */
  async heard(name: keyof CacheEvents, members: readonly Member[] = this.members): Promise<number> {
    const events = await Promise.all(members.map((member) => member.events()))
    return events.reduce((sum, counts) => sum + (counts[name] ?? 0), 0)
  }

  /** Resolves when so many flights wait for another process's load, counted from the start. */
  async waits(count: number, members: readonly Member[] = this.members): Promise<void> {
    await until(`${count} wait for a load elsewhere`, async () => (await this.heard('wait', members)) >= count)
  }

  /** Gathers so many processes. */
  async gather(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const process = this.#idle?.pop() ?? (await this.#starter.start(() => {}))
      process.index = index
      process.reported = (report) => this.#heard(process, report as Report)
      this.processes.push(process)
    }
    await Promise.all(this.processes.map((process) => process.ready))
    await Promise.all(this.processes.map((process) => process.tell('again', { index: process.index })))
  }

  /** Lets go of all processes; throws if one had ended by itself or had anything to say, such as an unhandled rejection. */
  async stop(): Promise<void> {
    const complaints = await Promise.all(this.processes.map((process) => process.complaint()))
    await this.end()
    const said = complaints.filter((complaint) => complaint !== '')
    if (said.length > 0) throw new Error(said.join('\n'))
  }

  async end(): Promise<void> {
    if (this.#idle === null) return await this.#starter.stop()
    const kept = this.processes.filter(({ usable }) => usable)
    const others = this.processes.filter(({ usable }) => !usable)
    await Promise.all(others.map((process) => process.stop()))
    // A member that is left open would go on to speak to its server.
    await Promise.all(kept.map((process) => process.tell('again', { index: process.index })))
    this.#idle.push(...kept)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** What a process says of its loads. */
  #heard(process: FleetProcess, report: Report): void {
    const own = this.#own.get(process) ?? new Map<number, Load>()
    this.#own.set(process, own)
    if ('load' in report) {
      const load = new Load(report.load, process, report)
      own.set(report.load, load)
      this.loads.push(load)
    } else if ('loaded' in report) {
      own.get(report.loaded)?.ended(report.at)
    } else {
      own.get(report.aborted)?.wasAborted(report.code, report.at)
    }
  }
}

/** One cache in one of the processes. */
export class Member {
  readonly number: number
  readonly process: FleetProcess
  readonly #member: number

  constructor(number: number, process: FleetProcess, member: number) {
    this.number = number
    this.process = process
    this.#member = member
  }

  async open(spec: Partial<CacheSpec> & { connected: boolean }): Promise<void> {
    await this.#tell('open', spec)
  }

  /**
   * Lets callers ask. Resolves when they have.
   * @param at when, in milliseconds since the epoch; by default at once
   */
  async ask(key: string, { callers = 1, loader = {}, options = {}, over = 0 }: Question = {}, at = 0): Promise<Crowd> {
    let answers!: Promise<Answer[]>
    await new Promise<void>((resolve, reject) => {
      answers = settling(this.#tell('ask', { key, callers, loader, options, over, at }, resolve) as Promise<Answer[]>)
      answers.catch(reject)
    })
    return { answers }
  }

  /** What one caller is told; its loader returns at once unless said otherwise. */
  async get(key: string, loader: LoaderSpec = { ms: 0 }, options: Question['options'] = {}): Promise<Answer> {
    const { answers } = await this.ask(key, { loader, options })
    return (await answers)[0] as Answer
  }

  async flood(flood: Flood): Promise<Flooded> {
    return (await this.#tell('flood', { options: {}, ...flood })) as Flooded
  }

  async invalidate(key: string): Promise<void> {
    await this.#tell('invalidate', { key })
  }

  async set(key: string, value: string): Promise<void> {
    await this.#tell('set', { key, value })
  }

  async peek(key: string): Promise<Peeked<string>> {
    return (await this.#tell('peek', { key })) as Peeked<string>
  }

  /** The mode in force; first set for this process, if one is given. */
  async mode(mode?: Mode): Promise<Mode> {
    return (await this.#tell('mode', { mode })) as Mode
  }

  /** How often each event was heard. */
  async events(): Promise<Record<keyof CacheEvents, number>> {
    return (await this.#tell('events')) as Record<keyof CacheEvents, number>
  }

  async close(options: { timeout?: number } = {}): Promise<void> {
    await this.#tell('close', options)
  }

  /** Ends the client in the orderly way. */
  async quit(): Promise<void> {
    await this.#tell('quit')
  }

  /** Ends the client at once. */
  async disconnect(): Promise<void> {
    await this.#tell('disconnect')
  }

  #tell(word: string, details: object = {}, asked?: () => void): Promise<unknown> {
    return this.process.tell(word, { ...details, member: this.#member }, asked)
  }
}

/** One run of a loader. */
export class Load {
  readonly process: FleetProcess
  readonly key: string
  /** What it returns. */
  readonly value: string
  readonly fence: string | null
  /** The value it was told it will replace. */
  readonly stale: unknown
  readonly startedAt: number
  /** When the loader returned or threw. */
  endedAt: number | undefined
  /** Its signal's reason, and when that was given. */
  aborted: { readonly code: string; readonly at: number } | undefined
  readonly #number: number

  constructor(number: number, process: FleetProcess, report: Extract<Report, { load: number }>) {
    this.#number = number
    this.process = process
    this.key = report.key
    this.value = report.value
    this.fence = report.fence
    this.stale = report.stale
    this.startedAt = report.at
  }

  /** Lets the loader return. */
  async finish(): Promise<void> {
    await this.process.tell('finish', { load: this.#number })
  }

  /** Lets the loader throw. */
  async fail(error: NonNullable<LoaderSpec['error']>): Promise<void> {
    await this.process.tell('fail', { load: this.#number, error })
  }

  ended(at: number): void {
    this.endedAt = at
  }

  wasAborted(code: string, at: number): void {
    this.aborted = { code, at }
  }
}

/** How many callers were told what: each value and each error's code once, in the order of their first. */
export function tally(answers: readonly Answer[]): { told: string; callers: number }[] {
  const counts = new Map<string, number>()
  for (const { value, error } of answers) {
    const told = error === undefined ? String(value) : String(error.code ?? error.name)
    counts.set(told, (counts.get(told) ?? 0) + 1)
  }
  return [...counts].map(([told, callers]) => ({ told, callers }))
}

/** The same promise, whose rejection may be looked at later or never. */
function settling<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}
