import { Redis } from 'ioredis'
import { until } from '../../scripts/until.mjs'
import { Clients, type ConnectOptions } from './clients.ts'
import { startRedis, type RedisServer } from './redis-server.ts'

export interface SentinelShape {
  /** How many servers follow the master; 2 by default. */
  readonly replicas?: number
  /** How many sentinels watch it, a majority of which elects a new one; 3 by default. */
  readonly sentinels?: number
  /** After how many milliseconds of silence the master is taken for dead; 1,000 by default. */
  readonly downAfter?: number
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
}: SentinelShape = {}): Promise<SentinelGroup> {
  const args = ['--repl-diskless-sync-delay', '0']
  const master = await startRedis({ args })
  const following = { args: [...args, '--replicaof', '127.0.0.1', String(master.port)] }
  const watching = {
    args: ['--sentinel'],
    config: [
      `sentinel monitor ${name} 127.0.0.1 ${master.port} ${Math.floor(sentinels / 2) + 1}`,
      `sentinel down-after-milliseconds ${name} ${downAfter}`,
      `sentinel failover-timeout ${name} ${4 * downAfter}`,
    ].join('\n'),
  }
  const group = new SentinelGroup(
    [master, ...(await Promise.all(Array.from({ length: replicas }, () => startRedis(following))))],
    await Promise.all(Array.from({ length: sentinels }, () => startRedis(watching))),
  )
  try {
    await until('the replicas follow the master and the sentinels know each other', () => isWhole(group), 20_000)
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
    const views = await Promise.all(this.sentinels.map(viewOf))
    const elected = this.servers.find(
      ({ port }) => 2 * views.filter(({ address }) => address === `127.0.0.1:${port}`).length > views.length,
    )
    const role = await elected?.client.info('replication')
    return role?.includes('role:master\r') ? elected : undefined
  }

  async stop(): Promise<void> {
    this.#clients.disconnect()
    await Promise.all([...this.sentinels, ...this.servers].map((server) => server.stop()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

async function isWhole({ servers, sentinels }: SentinelGroup): Promise<boolean> {
  const [, ...replicas] = servers
  const views = await Promise.all(sentinels.map(viewOf))
  const links = await Promise.all(replicas.map(({ client }) => client.info('replication')))
  return (
    views.every((view) => view.slaves === String(replicas.length) && view.sentinels === String(sentinels.length)) &&
    links.every((link) => link.includes('master_link_status:up\r'))
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
