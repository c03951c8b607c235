import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster, Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createCache, type Cache } from '../../src/index.ts'
import { redisStore, type RedisStoreOptions } from '../../src/redis/index.ts'
import { startCluster, startRedis, type RedisServer } from '../support/servers.ts'

// Everything here runs on the defaults of the library: a short lease, or traffic, would heal what these tests look for.

/** For so long a server refuses to do what it is asked, in milliseconds. */
const faultLasts = 600

/** How soon after the end of a fault a caller must be answered again, in milliseconds (reliability.md, 8). */
const healsWithin = 1_500

const name = '{herdless:k}:lease'

function open(client: Redis | Cluster, options?: RedisStoreOptions): Cache {
  return createCache({ store: redisStore(client, options) })
}

/** A load that lasts until it is ended. */
function openLoad(cache: Cache, key = 'k') {
  let end!: (value: string) => void
  let began!: () => void
  const value = new Promise<string>((resolve) => (end = resolve))
  const begun = new Promise<void>((resolve) => (began = resolve))
  const answer = cache.getOrLoad(key, () => (began(), value))
  return { begun, answer, end: () => end('first') }
}

/** How long it takes until a caller has its answer, in milliseconds. */
async function answered(cache: Cache, key = 'k'): Promise<number> {
  const since = performance.now()
  await cache.getOrLoad(key, () => 'second')
  return performance.now() - since
}

test('a load that ends while Redis forbids what gives a lease back leaves none that outlives the fault', async () => {
  await using server = await startRedis()
  await using here = open(server.connect())
  await using elsewhere = open(server.connect())
  const { begun, answer, end } = openLoad(here)
  await begun
  await server.forbid('evalsha')
  end()
  expect(await answer).toBe('first')
  await pause(faultLasts)
  await server.permit('evalsha')
  expect(await answered(elsewhere)).toBeLessThan(healsWithin)
  await until('the lease is gone', async () => (await server.client.exists(name)) === 0, healsWithin)
})

describe.each(['hset', 'pexpire'])('where %s is forbidden', (command) => {
  const failure = new Error('the source is down')

  test('a load leaves no lease if its error cannot be kept', async () => {
    await using server = await startRedis()
    await using cache = open(server.connect())
    let fail!: (error: Error) => void
    const value = new Promise<never>((_, reject) => (fail = reject))
    const begun = new Promise<void>((resolve) => cache.on('load', () => resolve()))
    const answer = cache.getOrLoad('k', () => value)
    await begun
    await server.forbid(command)
    fail(failure)
    await expect(answer).rejects.toThrow(failure)
    expect(await server.client.hgetall(name)).toEqual({})
  })

  test('a claim leaves nothing of the outcome that it was to replace', async () => {
    await using server = await startRedis()
    await using cache = open(server.connect())
    const options = { failureCooldown: 0 }
    await expect(cache.getOrLoad('k', () => Promise.reject(failure), options)).rejects.toThrow(failure)
    expect(await server.client.hget(name, 'state')).toBe('failed')
    await server.forbid(command)
    expect(await cache.getOrLoad('k', () => 'second', options)).toBe('second')
    expect(await server.client.hgetall(name)).toEqual({})
  })
})

describe('a lease that comes back after its load has ended', () => {
  /**
   * Ends a load, and brings its lease back, as a restart from an older snapshot or a failover does.
   * @param old the value that comes back with it, which has expired
   */
  async function lostEnd(cache: Cache, { client }: RedisServer, old?: string): Promise<void> {
    await client.del('{herdless:k}')
    const { begun, answer, end } = openLoad(cache)
    await begun
    const lease = await client.dumpBuffer(name)
    const left = await client.pttl(name)
    end()
    await answer
    if (old === undefined) await client.del('{herdless:k}')
    else await cache.set('k', old, { ttl: 1, grace: '1h' })
    await client.restore(name, left, lease as Buffer)
  }

  test.for(['push', 'poll'] as const)('is given back as soon as its own process asks, woken by %s', async (wakeUp) => {
    await using server = await startRedis()
    await using cache = open(server.connect(), { wakeUp })
    await lostEnd(cache, server)
    expect(await answered(cache)).toBeLessThan(healsWithin)
  })

  test('is given back when another process waits for it', async () => {
    await using server = await startRedis()
    await using here = open(server.connect())
    await using elsewhere = open(server.connect())
    await lostEnd(here, server)
    expect(await answered(elsewhere)).toBeLessThan(healsWithin)
  })

  test('is given back when no caller waits for it, but a refresh', async () => {
    await using server = await startRedis()
    await using here = open(server.connect())
    await using elsewhere = open(server.connect())
    await lostEnd(here, server, 'old')
    expect(await elsewhere.getOrLoad('k', () => 'second', { grace: '1h' })).toBe('old')
    const isRefreshed = async (): Promise<boolean> => {
      const found = await elsewhere.peek('k')
      return 'value' in found && found.value === 'second'
    }
    await until('the value is refreshed', isRefreshed, healsWithin)
  })

  test('is given back with all others when one is seen', async () => {
    await using server = await startRedis()
    await using cache = open(server.connect())
    const { client } = server
    const keys = Array.from({ length: 300 }, (_, index) => `k${index}`)
    const loads = keys.map((key) => openLoad(cache, key))
    await Promise.all(loads.map(({ begun }) => begun))
    const names = keys.map((key) => `{herdless:${key}}:lease`)
    const leases = await Promise.all(names.map((each) => client.dumpBuffer(each)))
    for (const { end } of loads) end()
    await Promise.all(loads.map(({ answer }) => answer))
    await client.flushall()
    await Promise.all(names.map((each, index) => client.restore(each, 60_000, leases[index] as Buffer)))
    await cache.getOrLoad('k7', () => 'second')
    await until('all leases are gone', async () => (await client.exists(...names)) === 0, healsWithin)
    expect(await client.exists('{herdless:k7}')).toBe(1)
  })

  test.for(['push', 'poll'] as const)(
    'is given back when the client is connected anew, woken by %s',
    async (wakeUp) => {
      await using server = await startRedis()
      await using cache = open(server.connect(), { wakeUp })
      await lostEnd(cache, server)
      expect(await server.client.exists(name)).toBe(1)
      await server.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await until('the lease is gone', async () => (await server.client.exists(name)) === 0, healsWithin)
    },
  )

  test('is left alone as long as its load runs', async () => {
    await using server = await startRedis()
    await using here = open(server.connect())
    await using elsewhere = open(server.connect())
    const { begun, answer, end } = openLoad(here)
    await begun
    const other = elsewhere.getOrLoad('k', () => 'second')
    const inbox = await until('the waiter has asked its holder', async () => {
      const messages = await server.client.info('commandstats')
      return /cmdstat_publish:calls=[1-9]/.test(messages)
    })
    expect(inbox).toBe(true)
    expect(await server.client.exists(name)).toBe(1)
    end()
    expect(await Promise.all([answer, other])).toEqual(['first', 'first'])
  })

  test('is given back in a cluster, too, where no node knows which processes live', async () => {
    await using cluster = await startCluster()
    await using here = open(cluster.connect())
    await using elsewhere = open(cluster.connect())
    const node = await cluster.masterOf(name)
    await lostEnd(here, node)
    expect(await answered(elsewhere)).toBeLessThan(healsWithin)
    await lostEnd(here, node)
    expect(await answered(here)).toBeLessThan(healsWithin)
  })
})

describe('a lease that may not be read', () => {
  test('is not overwritten by a claim, nor taken for given back', async () => {
    await using server = await startRedis()
    await using here = open(server.connect())
    await using elsewhere = open(server.connect())
    const { begun, answer, end } = openLoad(here)
    await begun
    const token = await server.client.hget(name, 'token')
    await server.forbid('hmget')
    expect(await elsewhere.getOrLoad('k', ({ fence }) => fence)).toBe(null)
    expect(await server.client.hget(name, 'token')).toBe(token)
    end()
    expect(await answer).toBe('first')
    await pause(faultLasts)
    expect(await server.client.hget(name, 'token')).toBe(token)
    await server.permit('hmget')
    await until('the lease is gone', async () => (await server.client.exists(name)) === 0, healsWithin)
  })
})
