import { execFile } from 'node:child_process'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import {
  startServer,
  urlOf,
  type Address,
  type ServerOptions,
  type ServerProcess,
} from '../../tools/servers/start-redis.mjs'
import { provisionFaketime } from '../../tools/servers/provision-faketime.mjs'
import { until } from '../../tools/until.mjs'
import { findOpenssl } from './certificates.ts'
import { Clients, type ConnectOptions } from './clients.ts'
import { saveForLoading } from './redis-loading.ts'
import { evictSoonest, limitMemory, usedMemory } from './redis-memory.ts'
import { clockFile, clockText, optionsOf, type RedisShape } from './redis-shape.ts'
import { CommandCounter, type CommandCounts } from './command-counts.ts'

/** Starts one server without persistence: on a free loopback port, or with `{ listen: 'socket' }` on a unix socket. */
export async function startRedis(shape: RedisShape = {}): Promise<RedisServer> {
  const options = await optionsOf(shape)
  return new RedisServer(await startServer(options), options)
}

/** Why a server cannot be had here, for tests that skip then: undefined if it can. */
export async function missingFor(shape: 'tls' | 'clock'): Promise<string | undefined> {
  if (shape === 'clock') return (await provisionFaketime()).missing
  if (findOpenssl() === undefined) return 'openssl is not on the PATH'
  await using server = await startRedis()
  const [known] = await server.client.config('GET', 'tls-port')
  return known === undefined ? 'this Redis was built without TLS' : undefined
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
  #state: 'running' | 'frozen' | 'ended' = 'running'
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

  /** Where it runs, and leaves its files. */
  get folder(): string {
    return this.#process.folder
  }

  /** Whether it runs and is not frozen, as far as it was frozen and killed through this object. */
  get running(): boolean {
    return this.#state === 'running'
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
    this.#state = 'frozen'
    this.#process.signal('SIGSTOP')
    await until(`process ${this.pid} stands still`, () => isStopped(this.pid))
  }

  /** Lets it go on, with the commands that have arrived meanwhile. */
  thaw(): void {
    if (this.#state === 'frozen') this.#state = 'running'
    this.#process.signal('SIGCONT')
  }

  /** Kills it as a crash would, connections and data included. `restart` brings it back. */
  async kill(): Promise<void> {
    this.#state = 'ended'
    this.#stopCounting()
    this.#process.signal('SIGKILL')
    await this.#process.ended
  }

  /**
   * Starts it anew on the same address, killed before if it still runs. It is empty then: what is left of a
   * replication or of SAVE is removed.
   */
  async restart(): Promise<void> {
    await this.kill()
    await rm(join(this.#process.folder, 'dump.rdb'), { force: true })
    await this.#start()
  }

  /**
   * Starts it anew with the data it had, which it takes so many milliseconds to load. Resolves when it answers, with
   * LOADING. Some padding that it loads with them expires soon after.
   */
  async restartLoading(ms: number): Promise<void> {
    const slowness = await saveForLoading(this.client, ms)
    await this.kill()
    await this.#start(slowness)
  }

  /** Kills it as a crash would, and starts it anew with the data that it had when it was last told to SAVE. */
  async restartFromSave(): Promise<void> {
    await this.kill()
    await this.#start()
  }

  /** Undoes a `freeze` or a `kill`, whichever it was. */
  async revive(): Promise<void> {
    if (this.#state === 'frozen') this.thaw()
    if (this.#state === 'ended') await this.restart()
  }

  /** Sets its wall clock so many milliseconds ahead of the machine's, or behind, from now on; restarts do not change it. */
  async shiftClock(ms: number): Promise<void> {
    if (!this.#options.files?.[clockFile]) throw new TypeError("Expected a server with { clock: 'adjustable' }")
    const file = join(this.#process.folder, clockFile)
    await writeFile(`${file}.next`, clockText(ms))
    // It looks at any moment, and must not see half of it.
    await rename(`${file}.next`, file)
  }

  /** Refuses every write, as a server does that is full and may not evict; until `freeMemory`. */
  async exhaustMemory(): Promise<void> {
    await limitMemory(this.client, 'noeviction', 1)
  }

  /** Leaves it no more memory than it uses, so that writes evict keys at random; until `freeMemory`. */
  async tightenMemory(): Promise<void> {
    await limitMemory(this.client, 'allkeys-random', await usedMemory(this.client))
  }

  async freeMemory(): Promise<void> {
    await limitMemory(this.client, 'noeviction', 0)
  }

  /** Makes it evict what would expire first, leases before values; resolves with how many keys, 0 if none expires. */
  async evict(): Promise<number> {
    return evictSoonest(this.client)
  }

  /** Makes it refuse all writes, as a replica does: its master is nobody. Until `makeWritable`. */
  async makeReadOnly(): Promise<void> {
    await this.client.replicaof('127.0.0.1', 1)
  }

  async makeWritable(): Promise<void> {
    await this.client.replicaof('NO', 'ONE')
  }

  /** Takes a command away from a user, on connections there are, too; until `permit`. */
  async forbid(command: string, user = 'default'): Promise<void> {
    await this.client.acl('SETUSER', user, `-${command}`)
  }

  async permit(command: string, user = 'default'): Promise<void> {
    await this.client.acl('SETUSER', user, `+${command}`)
  }

  /** Asks for another password from now on, and cuts all connections but `client`'s; by default for that of its address. */
  async changePassword(password: string = this.address.password ?? ''): Promise<void> {
    await this.client.config('SET', 'requirepass', password)
    for (const type of ['normal', 'pubsub']) await this.client.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes')
  }

  /** Ends it for good, and with it the clients made by `connect`. */
  async stop(): Promise<void> {
    this.#state = 'ended'
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

  async #start(args: readonly string[] = []): Promise<void> {
    const { folder } = this.#process
    const { files: _, ...options } = this.#options
    const all = [...(options.args ?? []), ...args]
    this.#process = await startServer({ ...options, args: all, listen: this.address, folder })
    this.#state = 'running'
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
