import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { until } from '../../../tools/until.mjs'
import type { CacheResponsesOptions } from '../../../src/express/index.ts'
import type { CacheEvents, CacheOptions } from '../../../src/index.ts'
import { ignoreRejection } from '../../../src/core/errors.ts'
import { ProcessStarter, type FleetProcess } from '../../support/fleet-process.ts'
import { Visitor, type Reply } from './visitor.ts'

const program = fileURLToPath(new URL('process.mjs', import.meta.url))
const token = 'the token of all who may purge'

/** What a handler answers. */
export interface Answer {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body: string
}

/** How many processes a site runs in. */
const processCount = 4

/** What a site in several processes is like. What it says travels as JSON. */
export interface ProcessesShape {
  readonly cache?: Omit<CacheOptions, 'store' | 'codec' | 'clock'>
  readonly responses?: CacheResponsesOptions
  /** Which fields of its request the handler reads. */
  readonly reads?: readonly string[]
}

/** What one process is told at first. */
export interface Opening extends Required<ProcessesShape> {
  readonly redis: string
  readonly token: string
}

interface Began {
  readonly site: number
  readonly run: number
  readonly method: string
  readonly path: string
  readonly read: readonly (string | null)[]
}

/** Processes that sites run in, one after the other: to start one takes longer than most tests. */
export class SiteProcesses {
  readonly #starter: ProcessStarter
  #processes: FleetProcess[] = []
  readonly #sites: Run[][] = []

  private constructor(starter: ProcessStarter) {
    this.#starter = starter
  }

  static async open(): Promise<SiteProcesses> {
    return new SiteProcesses(await ProcessStarter.open(program))
  }

  /** A site in several processes, on the Redis that all tests share; every other process keeps copies. */
  async site(shape: ProcessesShape = {}): Promise<ProcessSite> {
    const { cache = {}, responses = {}, reads = [] } = shape
    const runs: Run[] = []
    const site = this.#sites.push(runs) - 1
    const processes = await this.#take()
    const namespace = randomUUID()
    const ports = processes.map(async (process, index) => {
      const near = index % 2 === 1 ? { near: { ttl: '1m' } as const } : {}
      // A busy machine takes its time.
      const own = { commandTimeout: '60s', ...near, ...cache, namespace } as const
      const opening: Opening = { redis: inject('redisUrl'), cache: own, responses, reads, token }
      return (await process.tell('open', { site, ...opening })) as number
    })
    return new ProcessSite(site, processes, await Promise.all(ports), runs)
  }

  /** Ends all of them; throws if one had ended by itself or had anything to say, such as an unhandled rejection. */
  async [Symbol.asyncDispose](): Promise<void> {
    const complaints = await Promise.all(this.#processes.map((process) => process.complaint()))
    await this.#starter.stop()
    const said = complaints.filter((complaint) => complaint !== '')
    if (said.length > 0) throw new Error(said.join('\n'))
  }

  /** As many as a site needs, all of which live. */
  async #take(): Promise<FleetProcess[]> {
    this.#processes = this.#processes.filter((process) => process.running)
    const missing = Array.from({ length: processCount - this.#processes.length }, () =>
      this.#starter.start<Began>((began, process) => {
        const runs = this.#sites[began.site]
        runs?.push(new Run(runs.length + 1, process, began))
      }),
    )
    this.#processes.push(...(await Promise.all(missing)))
    await Promise.all(this.#processes.map((process) => process.ready))
    return this.#processes
  }
}

/** One run of the handler, in one of the processes: it answers what it is told to. */
export class Run {
  /** Of all processes, from 1. */
  readonly number: number
  readonly process: FleetProcess
  readonly method: string
  readonly path: string
  /** What the handler has read of its request, in the order of `reads`. */
  readonly read: readonly (string | null)[]
  readonly #own: { readonly site: number; readonly run: number }

  constructor(number: number, process: FleetProcess, { site, run, method, path, read }: Began) {
    this.number = number
    this.process = process
    this.method = method
    this.path = path
    this.read = read
    this.#own = { site, run }
  }

  async write(text: string, headers: Record<string, string> = {}): Promise<void> {
    await this.process.tell('write', { ...this.#own, text, headers })
  }

  /** Says all, or what is left to be said. */
  async answer(answer: Answer): Promise<void> {
    await this.process.tell('answer', { ...this.#own, ...answer })
  }

  /** Calls `next` with an error. */
  async fail(message: string): Promise<void> {
    await this.process.tell('fail', { ...this.#own, message })
  }
}

/** A site in several processes, and what is asked of it. */
export class ProcessSite extends Visitor implements AsyncDisposable {
  readonly processes: readonly FleetProcess[]
  readonly #site: number
  readonly #runs: Run[]

  constructor(site: number, processes: readonly FleetProcess[], ports: readonly number[], runs: Run[]) {
    super(ports)
    this.#site = site
    this.processes = processes
    this.#runs = runs
  }

  /** All runs of the handler, in the order in which this process heard of them. */
  get runs(): readonly Run[] {
    return this.#runs
  }

  /** The run with this number, once it has begun. */
  async run(number: number): Promise<Run> {
    return await until(`run ${number} begins`, () => this.#runs[number - 1], 60_000)
  }

  /** Has all runs answered that have begun, from this number on, and all that will. */
  letGo(answer: (run: Run) => Answer | Promise<Answer>, from = 1): void {
    const say = (run: Run): void => ignoreRejection(Promise.resolve(answer(run)).then((said) => run.answer(said)))
    this.#runs.slice(from - 1).forEach(say)
    this.#runs.push = (...begun) => (begun.forEach(say), Array.prototype.push.apply(this.#runs, begun))
  }

  /** How often an event was heard in all processes that live and turn; `near`: hits that were copies in them. */
  async heard(name: keyof CacheEvents | 'near', processes: readonly FleetProcess[] = this.processes): Promise<number> {
    const living = processes.filter((process) => process.running)
    const events = await Promise.all(living.map((process) => process.tell('events', { site: this.#site })))
    return (events as Record<string, number>[]).reduce((sum, counts) => sum + (counts[name] ?? 0), 0)
  }

  /** Resolves when so many requests in all have not found what they asked for, and so many processes wait for another's load. */
  async missed(count: number, waits: number, processes: readonly FleetProcess[] = this.processes): Promise<void> {
    await until(`${count} have missed`, async () => (await this.heard('miss', processes)) >= count, 60_000)
    await until(`${waits} processes wait`, async () => (await this.heard('wait', processes)) >= waits, 60_000)
  }

  /** The answer that each process gives now. */
  async everywhere(path: string): Promise<Reply[]> {
    const living = this.processes.flatMap((process, app) => (process.running ? [app] : []))
    return await Promise.all(living.map((app) => this.ask(path, { app })))
  }

  async purge(app: number, path: string): Promise<Reply> {
    const query = new URLSearchParams({ url: `http://site${path}` })
    const headers = { authorization: `Bearer ${token}` }
    return await this.ask(`/purge?${query}`, { app, method: 'POST', headers })
  }

  /** The processes go on, for other sites. */
  async [Symbol.asyncDispose](): Promise<void> {
    const living = this.processes.filter((process) => process.running)
    for (const process of living) process.resume()
    await Promise.all(living.map((process) => process.tell('close', { site: this.#site })))
  }
}
