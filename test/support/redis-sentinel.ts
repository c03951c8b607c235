import { Redis } from 'ioredis'
import { until } from '../../tools/until.mjs'
import { Clients, type ConnectOptions } from './clients.ts'
import { startRedis, type RedisServer } from './redis-server.ts'
import { roleOf, streamingAtOnce, type Failover } from './replication.ts'

export interface SentinelShape {
  /** How many servers follow the master; 2 by default. */
  readonly replicas?: number
  /** How many sentinels watch it, a majority of which elects a new one; 3 by default. */
  readonly sentinels?: number
  /** After how many milliseconds of silence the master is taken for dead; 1,000 by default. */
  readonly downAfter?: number
  /** Gives a clock of its own to every server, for `shiftClock`, though not to the sentinels. */
  readonly clock?: 'adjustable'
}

/** What the sentinels call the master. */
const name = 'herdless'

/**
 * Starts a master, its replicas and its sentinels; resolves when every replica follows and every sentinel knows all the
 * others.
 */
export async function startSentinel({
  replicas = 2,
  sentinels = 3,
  downAfter = 1_000,
  ...own
}: SentinelShape = {}): Promise<SentinelGroup> {
  // The sentinels let a server write down its role, so that a restart does not undo what they decided.
  const remembering = { args: [...streamingAtOnce], config: '', ...own }
  const servers = await Promise.all(Array.from({ length: 1 + replicas }, () => startRedis(remembering)))
  const [master, ...following] = servers as [RedisServer, ...RedisServer[]]
  const watching = {
    args: ['--sentinel'],
    config: [
      `sentinel monitor ${name} 127.0.0.1 ${master.port} ${Math.floor(sentinels / 2) + 1}`,
      `sentinel down-after-milliseconds ${name} ${downAfter}`,
      `sentinel failover-timeout ${name} ${4 * downAfter}`,
    ].join('\n'),
  }
  const group = new SentinelGroup(
    servers,
    await Promise.all(Array.from({ length: sentinels }, () => startRedis(watching))),
  )
  try {
    for (const { client } of following) {
      await client.replicaof('127.0.0.1', master.port)
      await client.config('REWRITE')
    }
    await Promise.all(group.sentinels.map(hasten))
    await group.whole()
    return group
  } catch (error) {
    await group.stop()
    throw error
  }
}

/** A master, its replicas, and the sentinels that put a replica in its place when it dies. */
export class SentinelGroup {
  /** The servers that hold data: first the one that was started as the master. */
  readonly servers: readonly RedisServer[]
  readonly sentinels: readonly RedisServer[]
  readonly #clients: Clients<Redis> = new Clients()

  constructor(servers: readonly RedisServer[], sentinels: readonly RedisServer[]) {
    this.servers = servers
    this.sentinels = sentinels
  }

  /** A new client that asks the sentinels where the master is, disconnected by `stop`. */
  connect(options: ConnectOptions = {}): Redis {
    const sentinels = this.sentinels.map(({ port }) => ({ host: '127.0.0.1', port }))
    return this.#clients.add(new Redis({ sentinels, name, ...options }))
  }

  /** The master that most of the sentinels name, once it says so itself: in the midst of a failover there is none. */
  async master(): Promise<RedisServer | undefined> {
    const views = await Promise.all(this.sentinels.filter(({ running }) => running).map(viewOf))
    const elected = this.servers.find(
      ({ port }) => 2 * views.filter(({ address }) => address === `127.0.0.1:${port}`).length > this.sentinels.length,
    )
    return elected?.running && (await roleOf(elected)).isMaster ? elected : undefined
  }

  /**
   * Takes the place from the master; resolves with the new one, once it says so itself and all sentinels name it. The old
   * one, if it runs, takes itself for a master for some seconds more, as it does in life.
   */
  async failover(how: Failover = 'command'): Promise<RedisServer> {
    const old = await until('there is a master', () => this.master())
    if (how === 'kill') await old.kill()
    else if (how === 'freeze') await old.freeze()
    else await this.#order()
    return await until(
      'the sentinels agree on a new master',
      async () => {
        const master = await this.master()
        const views = await Promise.all(this.sentinels.filter(({ running }) => running).map(viewOf))
        return master !== old && views.every(({ address }) => address === `127.0.0.1:${master?.port}`) && master
      },
      30_000,
    )
  }

  /** Lets the replicas fall behind: the master sends them nothing more. Until it has been killed. */
  async holdReplicasBack(): Promise<void> {
    const master = await until('there is a master', () => this.master())
    // A replica whose link is cut comes back at once, with one of these.
    for (const command of ['psync', 'sync']) await master.forbid(command)
    await master.client.call('CLIENT', 'KILL', 'TYPE', 'replica')
  }

  /**
   * Brings back whatever was killed or frozen; resolves when there is one master, all others follow it, and the sentinels
   * know of all. What was a master becomes a replica when the sentinels say so.
   */
  async restore(): Promise<void> {
    await Promise.all([...this.servers, ...this.sentinels].map((server) => server.revive()))
    await this.whole()
  }

  /** Resolves when one server is the master for all sentinels, and all others follow it. */
  async whole(): Promise<void> {
    await until('the replicas follow the master and the sentinels know each other', () => isWhole(this), 30_000)
  }

  async #order(): Promise<void> {
    const sentinel = this.sentinels.find(({ running }) => running)
    // It refuses while it knows of no replica that it has heard of lately.
    await until('a sentinel accepts the order', async () => sentinel?.client.call('SENTINEL', 'FAILOVER', name))
  }

  async stop(): Promise<void> {
    this.#clients.disconnect()
    await Promise.all([...this.sentinels, ...this.servers].map((server) => server.stop()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

async function isWhole(group: SentinelGroup): Promise<boolean> {
  const { servers, sentinels } = group
  const master = await group.master()
  const [views, roles] = await Promise.all([Promise.all(sentinels.map(viewOf)), Promise.all(servers.map(roleOf))])
  return (
    views.every(
      ({ address, slaves, sentinels: known }) =>
        address === `127.0.0.1:${master?.port}` &&
        slaves === String(servers.length - 1) &&
        known === String(sentinels.length),
    ) && roles.every(({ follows }, index) => follows === (servers[index] === master ? undefined : master?.port))
  )
}

/**
 * How one sentinel sees the master: the fields of the line
 * `master0:name=...,status=...,address=...,slaves=...,sentinels=...`.
 */
async function viewOf({ client }: RedisServer): Promise<{ address?: string; slaves?: string; sentinels?: string }> {
  const line = /^master0:(.*?)\r?$/m.exec(await client.info('sentinel'))?.[1] ?? ''
  return Object.fromEntries(line.split(',').map((field) => field.split('=')))
}

/**
 * Lets a sentinel look and speak several times a second: one that does so every two and every ten seconds takes long to
 * notice that somebody has come back. Before Redis 7 it cannot be told to.
 *
 * It pings often, too. It counts the silence of a new master from the moment at which it hears of it, and sends the
 * first ping after a second: where a master is down after a second, it may order another failover right after the first.
 */
async function hasten({ client }: RedisServer): Promise<void> {
  const periods = ['INFO-PERIOD', 500, 'PUBLISH-PERIOD', 500, 'PING-PERIOD', 250]
  await client.call('SENTINEL', 'DEBUG', ...periods).catch(() => {})
}
