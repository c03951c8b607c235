import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { until } from '../../tools/until.mjs'
import { createCache, type Cache, type CacheOptions } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { withoutCare } from './command-counts.ts'
import { startRedis, type CommandCounts, type RedisServer } from './servers.ts'

/** A cache of this process, with a client of its own. */
export interface OpenCache {
  readonly cache: Cache
  readonly client: Redis
  readonly namespace: string
}

/** Caches of this process that have nothing in common but one server of their own, and what they send to it. */
export class Caches {
  readonly server: RedisServer
  readonly #opened: Cache[] = []

  private constructor(server: RedisServer) {
    this.server = server
  }

  static async start(): Promise<Caches> {
    return new Caches(await startRedis())
  }

  /** One that is told of outcomes and has loaded and found something, so that it sends no more than it must from then on. */
  async open(options: CacheOptions = {}): Promise<OpenCache> {
    const { namespace = randomUUID() } = options
    const client = this.server.connect()
    // A busy machine takes its time: what is given up on may be sent all the same, and later than it is counted.
    const cache = createCache({ commandTimeout: '10s', ...options, namespace, store: redisStore(client) })
    this.#opened.push(cache)
    await until('all are told of outcomes', async () => {
      return (await this.server.client.pubsub('CHANNELS', 'herdless:inbox:*')).length === this.#opened.length
    })
    const first = randomUUID()
    for (let times = 0; times < 2; times++) await cache.getOrLoad(first, () => 1)
    return { cache, client, namespace }
  }

  /** What is sent meanwhile, but for what is sent from time to time anyway. */
  async sent(run: () => Promise<unknown>): Promise<CommandCounts> {
    await this.server.resetCounts()
    await run()
    return withoutCare(await this.server.commandCounts())
  }

  /** Closes all of them, and ends the server. */
  async stop(): Promise<void> {
    await Promise.all(this.#opened.map((cache) => cache.close()))
    await this.server.stop()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
