import { randomUUID } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createCache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { copied, never } from '../support/caches.ts'
import { CommandCounter } from '../support/command-counts.ts'
import { startCluster, startRedis, type RedisCluster, type RedisServer } from '../support/servers.ts'

const patient = { commandTimeout: '30s' } as const

/** Has a client lose what its subscriber is told of changes, as long as `losing.on`. */
function lossy(client: Redis | Cluster): { on: boolean; lost: number } {
  const losing = { on: false, lost: 0 }
  const duplicate = client.duplicate.bind(client) as () => Redis
  client.duplicate = (() => {
    const subscriber = duplicate()
    const on = subscriber.on.bind(subscriber) as (event: string, listener: (...args: never[]) => void) => Redis
    subscriber.on = ((event: string, listener: (...args: Buffer[]) => void) => {
      if (event !== 'messageBuffer') return on(event, listener)
      return on(event, (channel: Buffer, message: Buffer) => {
        if (losing.on && message.toString('latin1', 0, 1) === 'd') losing.lost++
        else listener(channel, message)
      })
    }) as typeof subscriber.on
    return subscriber
  }) as unknown as typeof client.duplicate
  return losing
}

/** A cache whose copy of `k` is served, one that changes it, and what the first may lose. */
async function two(server: RedisServer | RedisCluster) {
  const options = { namespace: randomUUID(), ttl: '1h', ...patient } as const
  const client = server.connect()
  const losing = lossy(client)
  const cache = createCache({ store: redisStore(client), near: { ttl: '1h' }, ...options })
  const other = createCache({ store: redisStore(server.connect()), ...options })
  onTestFinished(async () => void (await Promise.all([cache.close(), other.close()])))
  await other.set('k', 'old', { tags: ['t'] })
  await copied(cache)
  return { cache, other, losing }
}

describe.each(['one node', 'a cluster'])('on %s, a message that says what goes and is lost', (shape) => {
  let server: RedisServer | RedisCluster

  beforeAll(async () => {
    server = shape === 'one node' ? await startRedis() : await startCluster()
  })

  afterAll(() => server.stop())

  test('lets no process serve what has changed, however long it keeps copies', async () => {
    const { cache, other, losing } = await two(server)
    losing.on = true
    await other.set('k', 'new')
    expect(losing.lost).toBe(1)
    for (let read = 0; read < 20; read++) expect(await cache.getOrLoad('k', never)).toBe('new')
  })

  test('is noticed by the next that comes', async () => {
    const { cache, other, losing } = await two(server)
    losing.on = true
    const changed = other.invalidateTags(['t'])
    await until('it was lost', () => losing.lost === 1)
    losing.on = false
    await other.set('unrelated', 1)
    expect(await cache.getOrLoad('k', () => 'loaded')).toBe('loaded')
    await changed
  })

  test('does not cost copies their place for good', async () => {
    const { cache, other, losing } = await two(server)
    losing.on = true
    await other.invalidate('unrelated')
    losing.on = false
    await copied(cache)
    await other.invalidate('k')
    expect(await cache.getOrLoad('k', () => 'loaded')).toBe('loaded')
  })
})

test('where no memory is left to note what was told, all copies go', async () => {
  const server = await startRedis({ args: ['--maxmemory-policy', 'noeviction'] })
  onTestFinished(() => server.stop())
  const { cache, other, losing } = await two(server)
  losing.on = true
  await server.exhaustMemory()
  await other.invalidate('k')
  expect(losing.lost).toBe(1)
  await server.freeMemory()
  const counter = await CommandCounter.start(server.client)
  await until('it says again that it keeps copies', async () => Number((await counter.counts())['evalsha']) > 2)
  counter.stop()
  expect(await cache.getOrLoad('k', () => 'loaded')).toBe('loaded')
})
