import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { until } from '../../tools/until.mjs'
import { createCache, type Cache, type CacheOptions } from '../../src/index.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisStore, type RedisPort } from '../../src/redis/index.ts'
import { withoutCare } from './command-counts.ts'
import { disconnect, openClient, portWith, type OpenClient } from './node-redis.ts'
import { startRedis, type CommandCounts, type RedisServer } from './servers.ts'

/** A cache of this process, with a client of its own, and a client to ask and prepare the server with. */
export interface OpenCache {
  readonly cache: Cache
  readonly client: Redis
  /** The client of the cache. */
  readonly port: RedisPort
  /** Members that take the place of those of `port`, from when they are put here. */
  readonly instead: { -readonly [member in keyof RedisPort]?: RedisPort[member] }
  readonly namespace: string
}

/** The loader of what is there. */
export function never(): never {
  throw new Error('a hit must not load')
}

/** Resolves when a key is served from a copy near the process, again and again. */
export async function copied(cache: Cache, key = 'k'): Promise<void> {
  const { nearHits } = cache.stats()
  await until('a copy is served', async () => {
    await cache.getOrLoad(key, never)
    return cache.stats().nearHits > nearHits + 2
  })
}

/** Caches of this process that have nothing in common but one server of their own, and what they send to it. */
export class Caches {
  readonly server: RedisServer
  readonly #opened: Cache[] = []
  readonly #clients: OpenClient[] = []
  /** How often one of them was subscribed anew, or noticed that it is not, and how often `sent` has seen that. */
  readonly #pushes = { all: 0, seen: 0 }

  private constructor(server: RedisServer) {
    this.server = server
  }

  static async start(): Promise<Caches> {
    return new Caches(await startRedis())
  }

  /** One that is told of outcomes and has loaded and found something, so that it sends no more than it must from then on. */
  async open(options: CacheOptions = {}): Promise<OpenCache> {
    const { namespace = randomUUID() } = options
    const own = openClient(this.server.address)
    this.#clients.push(own)
    const instead: OpenCache['instead'] = {}
    // A busy machine takes its time: what is given up on may be sent all the same, and later than it is counted; and a
    // load that outlives its lease fills nothing.
    const cache = createCache({
      commandTimeout: '30s',
      leaseTtl: '2m',
      ...options,
      namespace,
      store: redisStore(portWith(instead, own)),
    })
    this.#opened.push(cache)
    await until('all are told of outcomes', async () => {
      return (await this.server.client.pubsub('CHANNELS', 'herdless:inbox:*')).length === this.#opened.length
    })
    cache.on('push', () => this.#pushes.all++)
    const first = randomUUID()
    for (let times = 0; times < 2; times++) await cache.getOrLoad(first, () => 1)
    return { cache, client: this.server.client, port: portOf(own), instead, namespace }
  }

  /**
   * What is sent meanwhile, but for what is sent from time to time anyway. Where a connection was made anew, as on a
   * machine that stood still, its own commands (HELLO and INFO are the first) and those of a cache that was subscribed
   * anew are among the others: then it is asked again.
   */
  async sent(run: () => Promise<unknown>): Promise<CommandCounts> {
    for (let left = 5; ; left--) {
      if (this.#pushes.seen !== this.#pushes.all) await this.#untilNothingIsSent()
      await this.server.resetCounts()
      await run()
      const { hello, info, ...counts } = withoutCare(await this.server.commandCounts())
      const isUsual = hello === undefined && info === undefined && this.#pushes.seen === this.#pushes.all
      if (isUsual || left === 0) return counts
    }
  }

  /** A cache that was subscribed anew releases the leases of its last loads again, so many at a time. */
  async #untilNothingIsSent(): Promise<void> {
    let silent = 0
    await until('nothing is sent', async () => {
      this.#pushes.seen = this.#pushes.all
      await this.server.resetCounts()
      const sent = withoutCare(await this.server.commandCounts())
      silent = Object.keys(sent).length === 0 ? silent + 1 : 0
      return silent >= 3
    })
  }

  /** Closes all of them, and ends the server. */
  async stop(): Promise<void> {
    await Promise.all(this.#opened.map((cache) => cache.close()))
    for (const client of this.#clients) disconnect(client)
    await this.server.stop()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
