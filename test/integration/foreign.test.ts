import { randomUUID } from 'node:crypto'
import { Cluster, Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createCache, memoryStore, type Cache, type NearOptions } from '../../src/index.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import {
  redisStore,
  type RedisClient,
  type RedisNode,
  type RedisPort,
  type RedisSubscriber,
} from '../../src/redis/index.ts'
import { copied, never } from '../support/caches.ts'
import { CommandCounter } from '../support/command-counts.ts'
import { disconnect, nodeRedis, nodeRedisCluster, portWith } from '../support/node-redis.ts'
import { startProxy } from '../support/proxy.ts'
import { startCluster, startRedis, type RedisServer } from '../support/servers.ts'

const patient = { commandTimeout: '30s' } as const

let server: RedisServer
const opened: { readonly cache: Cache; readonly client: Parameters<typeof disconnect>[0] }[] = []

/** The user of the caches, who can be forbidden what the tests themselves do. */
const user = { username: 'app', password: 'secret' } as const

beforeAll(async () => {
  server = await startRedis()
  await server.client.acl('SETUSER', user.username, 'on', `>${user.password}`, 'allkeys', 'allchannels', 'allcommands')
})

afterEach(async () => {
  await Promise.all(opened.map(({ cache }) => cache.close()))
  for (const { client } of opened.splice(0)) disconnect(client)
})

afterAll(() => server.stop())

/** A cache whose copies live for an hour, so that only what is told ends them. */
function open(
  client: RedisClient & Parameters<typeof disconnect>[0],
  near: NearOptions = { ttl: '1h', foreign: true },
  namespace: string = randomUUID(),
) {
  const cache = createCache({ store: redisStore(client), namespace, ttl: '1h', near, ...patient })
  opened.push({ cache, client })
  return { cache, keyOf: (key: string) => `{${namespace}:${key}}`, namespace }
}

/** What a key has once its copy is dropped. */
async function valueAfter(cache: Cache, key = 'k'): Promise<string> {
  return await until('the copy is dropped', async () => {
    const value = await cache.getOrLoad(key, () => 'loaded')
    return value !== 'old' && value
  })
}

/** The connections to which changes are reported. */
async function trackers(): Promise<string[]> {
  const list = String(await server.client.call('CLIENT', 'LIST')).split('\n')
  return list.flatMap((line) => (/ flags=\w*B/.test(line) ? [/^id=(\d+)/.exec(line)?.[1] ?? ''] : []))
}

const kinds = [
  { name: 'ioredis', connect: () => new Redis({ ...server.address, ...user }) },
  {
    name: 'ioredis, RESP2, key prefix',
    connect: () => new Redis({ ...server.address, ...user, protocol: 2, keyPrefix: 'app:' }),
  },
  { name: 'node-redis', connect: () => nodeRedis({ ...user, socket: { host: '127.0.0.1', port: server.port } }) },
  {
    name: 'node-redis, RESP2',
    connect: () => nodeRedis({ ...user, socket: { host: '127.0.0.1', port: server.port }, RESP: 2 }),
  },
]

describe.each(kinds)('with `near.foreign` on $name', ({ name, connect }) => {
  const prefix = name.includes('prefix') ? 'app:' : ''

  test('copies are dropped when a key is deleted by others, or overwritten', async () => {
    const { cache, keyOf } = open(connect())
    await cache.set('k', 'old')
    await cache.set('other', 'kept')
    await copied(cache)
    await copied(cache, 'other')
    await server.client.del(prefix + keyOf('k'))
    expect(await valueAfter(cache)).toBe('loaded')
    await cache.set('k', 'old')
    await copied(cache)
    await server.client.set(prefix + keyOf('k'), 'garbage of somebody else')
    expect(await valueAfter(cache)).toBe('loaded')
    const { nearHits } = cache.stats()
    expect(await cache.getOrLoad('other', never)).toBe('kept')
    expect(cache.stats().nearHits).toBe(nearHits + 1)
  })

  test('copies are dropped when Redis is flushed', async () => {
    const { cache } = open(connect())
    await cache.set('k', 'old')
    await copied(cache)
    await server.client.flushall()
    expect(await valueAfter(cache)).toBe('loaded')
  })

  test('copies are dropped when Redis evicts their values', async () => {
    const { cache, keyOf } = open(connect())
    await cache.set('k', 'old')
    await copied(cache)
    await server.client.config('SET', 'maxmemory-policy', 'allkeys-random')
    try {
      await server.client.config('SET', 'maxmemory', '1')
      await until('it is evicted', async () => {
        await server.client.set('filler', '1').catch(() => undefined)
        return (await server.client.exists(prefix + keyOf('k'))) === 0
      })
    } finally {
      await server.client.config('SET', 'maxmemory', '0')
    }
    expect(await valueAfter(cache)).toBe('loaded')
  })

  test('copies are not served while the reports are cut off, and serve again without those that went meanwhile', async () => {
    const { cache, keyOf } = open(connect())
    await cache.set('k', 'old')
    await cache.set('unchanged', 'kept')
    await copied(cache)
    // Nothing is reported to it until it may say CLIENT again.
    await server.forbid('client', user.username)
    for (const id of await trackers()) await server.client.call('CLIENT', 'KILL', 'ID', id)
    await until('copies are not served', async () => {
      const { nearHits } = cache.stats()
      await cache.getOrLoad('unchanged', never)
      return cache.stats().nearHits === nearHits
    })
    await server.client.del(prefix + keyOf('k'))
    await server.permit('client', user.username)
    await until('changes are reported again', async () => (await trackers()).length === 1)
    await copied(cache, 'unchanged')
    expect(await cache.getOrLoad('k', () => 'loaded')).toBe('loaded')
  })
})

test('copies are dropped though the reports come on a connection that is open at our end alone', async () => {
  await using proxy = await startProxy(server)
  // It gives up what is not answered, which is no answer.
  const reporting = new Redis({ host: proxy.host, port: proxy.port, commandTimeout: 300 })
  reporting.on('error', () => {})
  const client = new Redis(server.address)
  const nodes = (): RedisNode[] => {
    const [own] = portOf(reporting).nodes()
    return portOf(client)
      .nodes()
      .map((node) => ({ ...node, tracker: (...args) => own?.tracker?.(...args) as RedisSubscriber }))
  }
  const namespace = randomUUID()
  const store = redisStore(portWith({ nodes }, client))
  const cache = createCache({ store, namespace, ttl: '1h', near: { ttl: '1h', foreign: true }, ...patient })
  opened.push({ cache, client }, { cache, client: reporting })
  await cache.set('k', 'old')
  await copied(cache)
  proxy.abandon()
  await until('nobody is told', async () => (await trackers()).length === 0)
  await server.client.del(`{${namespace}:k}`)
  expect(await valueAfter(cache)).toBe('loaded')
})

test('a value that the library writes itself costs no copy: it is compared, and kept', async () => {
  const { cache, keyOf, namespace } = open(new Redis(server.address))
  await cache.set('k', 'new')
  await copied(cache)
  // The same value once more, as a late report of a write would find it.
  const bytes = (await server.client.getBuffer(keyOf('k'))) as Buffer
  const counter = await CommandCounter.start(server.client)
  await server.client.set(keyOf('k'), bytes, 'PX', 60_000)
  await until('it is compared', async () => ((await counter.counts())['getrange'] ?? 0) > 0)
  await server.client.set(`{${namespace}:k}:lease`, 'a lease is no value')
  const { nearHits } = cache.stats()
  for (let read = 0; read < 20; read++) expect(await cache.getOrLoad('k', never)).toBe('new')
  expect(cache.stats().nearHits).toBe(nearHits + 20)
  expect((await counter.counts())['get'] ?? 0).toBe(0)
})

test('a hit costs no command', async () => {
  const { cache } = open(new Redis(server.address))
  await cache.set('k', 'value')
  await copied(cache)
  const counter = await CommandCounter.start(server.client)
  for (let read = 0; read < 100; read++) await cache.getOrLoad('k', never)
  const counts = await counter.counts()
  expect([counts['get'] ?? 0, counts['getrange'] ?? 0, counts['mget'] ?? 0]).toEqual([0, 0, 0])
})

test('without it, what others delete is served until its ttl is over', async () => {
  const { cache, keyOf } = open(new Redis(server.address), { ttl: '1h' })
  await cache.set('k', 'old')
  await copied(cache)
  await server.client.del(keyOf('k'))
  await server.client.ping()
  expect(await cache.getOrLoad('k', never)).toBe('old')
})

test('in a cluster, every master reports', async () => {
  await using cluster = await startCluster()
  const ports = cluster.nodes.map(({ port }) => port)
  const clients = [new Cluster(ports.map((port) => ({ host: '127.0.0.1', port }))), nodeRedisCluster(ports)]
  for (const client of clients) {
    const { cache, keyOf } = open(client)
    const keys = Array.from({ length: 12 }, (_, index) => `k${index}`)
    for (const key of keys) await cache.set(key, 'old')
    for (const key of keys) await copied(cache, key)
    for (const key of keys) await (await cluster.masterOf(keyOf(key))).client.del(keyOf(key))
    for (const key of keys) expect(await valueAfter(cache, key)).toBe('loaded')
    // The list of processes with copies tells of its own loss. The other masters hold nothing but values.
    const list = await cluster.masterOf(keyOf(''))
    for (let index = 0, flushed = new Set([list]); flushed.size < cluster.masters.length; index++) {
      const key = `k${index}`
      const master = await cluster.masterOf(keyOf(key))
      if (flushed.has(master)) continue
      await cache.set(key, 'old')
      await copied(cache, key)
      await master.client.flushall()
      expect(await valueAfter(cache, key)).toBe('loaded')
      flushed.add(master)
    }
    await cache.close()
  }
  for (const { client } of opened.splice(0)) disconnect(client)
})

test('a client that cannot is refused at once', () => {
  expect(() => createCache({ store: memoryStore(), near: { foreign: true } })).toThrow(/^Expected a store that hears/)
  const client = new Redis(server.address)
  opened.push({ cache: createCache(), client })
  expect(() => createCache({ store: redisStore(client, { wakeUp: 'poll' }), near: { foreign: true } })).toThrow(
    /^Expected a redisStore with wakeUp 'push'/,
  )
  const port = portOf(client)
  const adapter = new Proxy(port, {
    get(target, name) {
      if (name === 'nodes') return () => port.nodes().map((node) => ({ name: node.name, call: node.call.bind(node) }))
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  }) as RedisPort
  expect(() => createCache({ store: redisStore(adapter), near: { foreign: true } })).toThrow(
    /^Expected a client that tells of changed keys/,
  )
})
