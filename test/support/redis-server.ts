import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { startServer, urlOf, type Address, type ServerOptions, type ServerProcess } from '../../scripts/start-redis.mjs'
import { until } from '../../scripts/until.mjs'
import { Clients, type ConnectOptions } from './clients.ts'
import { CommandCounter, type CommandCounts } from './command-counts.ts'

/** Starts one server without persistence: on a free loopback port, or with `{ listen: 'socket' }` on a unix socket. */
export async function startRedis(options: ServerOptions = {}): Promise<RedisServer> {
  return new RedisServer(await startServer(options), options)
}

/** One server of our own. It keeps its address through all that is done to it. */
export class RedisServer {
  readonly address: Address
  /** The address as one string that `new Redis(...)` takes. */
  readonly url: string
  /** A client to ask and prepare the server with; it connects with its first command. */
  readonly client: Redis
  readonly #clients: Clients<Redis> = new Clients()
  readonly #options: ServerOptions
  #process: ServerProcess
  #counter: CommandCounter | undefined

  constructor(process: ServerProcess, options: ServerOptions) {
    this.address = process.address
    this.url = urlOf(process.address)
    this.client = this.connect({ lazyConnect: true, enableReadyCheck: false, retryStrategy: () => 20 })
    this.#options = options
    this.#process = process
  }

  /** The number of the running process: another one after `restart`. */
  get pid(): number {
    return this.#process.pid
  }

  /** The loopback port it listens on. */
  get port(): number {
    if ('path' in this.address)
      throw new TypeError(`Expected a server with a port, this one listens on ${this.address.path}`)
    return this.address.port
  }

  /** A new client, disconnected by `stop`. */
  connect(options: ConnectOptions = {}): Redis {
    return this.#clients.add(new Redis({ ...this.address, ...options }))
  }

  /** Stops its clock: connections stay open and nothing is answered until `thaw`. Resolves when it stands still. */
  async freeze(): Promise<void> {
    this.#process.signal('SIGSTOP')
    await until(`process ${this.pid} stands still`, () => isStopped(this.pid))
  }

  /** Lets it go on, with the commands that have arrived meanwhile. */
  thaw(): void {
    this.#process.signal('SIGCONT')
  }

  /** Kills it as a crash would, connections and data included. `restart` brings it back. */
  async kill(): Promise<void> {
    this.#stopCounting()
    this.#process.signal('SIGKILL')
    await this.#process.ended
  }

  /**
   * Starts it anew on the same address, killed before if it still runs. It is empty then, since nothing was persisted.
   */
  async restart(): Promise<void> {
    await this.kill()
    this.#process = await startServer({ ...this.#options, listen: this.address, folder: this.#process.folder })
  }

  /** Ends it for good, and with it the clients made by `connect`. */
  async stop(): Promise<void> {
    this.#stopCounting()
    this.#clients.disconnect()
    await this.#process.stop()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** Begins to count from zero what clients send. A kill or a restart ends the counting. */
  async resetCounts(): Promise<void> {
    this.#counter ??= await CommandCounter.start(this.client)
    await this.#counter.reset()
  }

  /**
   * What clients, `client` included, have sent since `resetCounts`; commands inside scripts do not count. See
   * CommandCounter.
   */
  async commandCounts(): Promise<CommandCounts> {
    if (!this.#counter)
      throw new Error('Nothing is being counted: call resetCounts first, and again after a kill or a restart')
    return this.#counter.counts()
  }

  #stopCounting(): void {
    this.#counter?.stop()
    this.#counter = undefined
  }
}

/**
 * A signal is on its way for a moment after it was sent; once the process stands still, the system gives its state as
 * T.
 */
async function isStopped(pid: number): Promise<boolean> {
  if (process.platform === 'linux') return /\) T/.test(await readFile(`/proc/${pid}/stat`, 'utf8'))
  const { stdout } = await promisify(execFile)('ps', ['-o', 'state=', '-p', String(pid)])
  return stdout.startsWith('T')
}
