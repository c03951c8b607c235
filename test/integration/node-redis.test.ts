import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createCache, type CacheError } from '../../src/index.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import type { RedisSubscriber, SubscriberEvents } from '../../src/redis/connection/port.ts'
import { redisStore } from '../../src/redis/index.ts'
import { never } from '../support/caches.ts'
import { disconnect, nodeRedis, nodeRedisCluster, type OpenClient } from '../support/node-redis.ts'
import { startNetwork } from '../support/network.ts'
import { startProxy } from '../support/proxy.ts'
import { startCluster, startRedis, type RedisCluster, type RedisServer } from '../support/servers.ts'
import { until } from '../../tools/until.mjs'

const server = await startRedis()
let cluster: RedisCluster

beforeAll(async () => {
  cluster = await startCluster({ masters: 3 })
})

beforeEach(() => server.client.flushall())

afterAll(async () => {
  await server.stop()
  await cluster.stop()
})

function ending<Client extends OpenClient>(client: Client): Client {
  onTestFinished(() => disconnect(client))
  return client
}

test('a client of node-redis that was not connected is said to be none that is open, at once', async () => {
  const client = createClient()
  await using cache = createCache({ store: redisStore(client), commandTimeout: '30s' })
  const failures: CacheError[] = []
  cache.on('storeFailure', ({ error }) => failures.push(error))
  expect(await cache.getOrLoad('key', () => 1, { ttl: '1m' })).toBe(1)
  expect(String(failures[0]?.cause)).toMatch(/The node-redis client is not open: .*`connect\(\)`/)
  expect(failures[0]?.reason).toBe('closed')
})

test('a client of node-redis that is connected after its store was made is used from then on', async () => {
  const client = ending(createClient({ url: server.url }))
  client.on('error', () => {})
  await using cache = createCache({ store: redisStore(client), commandTimeout: '30s' })
  await expect(cache.set('key', 0, { ttl: '1m' })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  void client.connect()
  await cache.set('key', 1, { ttl: '1m' })
  expect(await cache.getOrLoad('key', never)).toBe(1)
})

test('a command waits longer to be sent than the timeout of the client', async () => {
  await using away = await startRedis()
  await away.kill()
  // Version 6 has five seconds by default.
  const client = ending(nodeRedis({ url: away.url, commandOptions: { timeout: 50 } }))
  const value = portOf(client).get('key')
  await Promise.race([value, once(AbortSignal.timeout(150), 'abort')])
  await away.revive()
  expect(await value).toBeNull()
})

test('calls on a cluster of node-redis wait while it connects', async () => {
  const client = ending(nodeRedisCluster(cluster.nodes.map(({ port }) => port)))
  await using cache = createCache({ store: redisStore(client), commandTimeout: '30s' })
  await Promise.all([1, 2, 3, 4, 5].map((number) => cache.set(`key ${number}`, number, { ttl: '1m' })))
  expect(await cache.getOrLoad('key 5', never)).toBe(5)
})

test('a command on two keys waits while their slot moves', async () => {
  const port = portOf(ending(nodeRedisCluster(cluster.nodes.map((node) => node.port))))
  await port.call('set', '{shop}:1', ['one'])
  const slot = await cluster.slotOf('{shop}:1')
  const from = await cluster.masterOfSlot(slot)
  const moving = await cluster.beginMove(slot, cluster.masters.find((master) => master !== from) as RedisServer)
  const text = "return redis.call('GET', KEYS[1])"
  const reading = port.evaluate('eval', text, ['{shop}:1', '{shop}:2'], [])
  const refusals = async (): Promise<string> => String(await from.client.info('errorstats'))
  await until('it was refused', async () => (await refusals()).includes('errorstat_TRYAGAIN'))
  await moving.run()
  expect(String(await reading)).toBe('one')
})

test('a command that is lost with its connection is sent once more', async () => {
  await using proxy = await startProxy(server)
  const client = ending(nodeRedis({ url: `redis://${proxy.host}:${proxy.port}` }))
  await using cache = createCache({ store: redisStore(client), commandTimeout: '30s' })
  await cache.set('key', 1, { ttl: '1m' })
  const stopped = proxy.stopAt('get')
  const asked = cache.getOrLoad('key', never)
  await stopped
  proxy.cut()
  proxy.heal()
  expect(await asked).toBe(1)
})

/** Asks for keys all the time, while the connections break again and again, and counts the replies that are to others. */
async function wrongReplies(client: OpenClient, keys: readonly string[], cut: () => void): Promise<number> {
  const port = portOf(client)
  const replies: Promise<number>[] = []
  for (let round = 1; round <= 400; round++) {
    for (const key of keys) {
      const wrong = (value: unknown): number => Number(String(value) !== key)
      replies.push(port.get(key).then(wrong, () => 0))
    }
    if (round % 40 === 0) cut()
    await pause(1)
  }
  return (await Promise.all(replies)).reduce((sum, wrong) => sum + wrong, 0)
}

const keys = Array.from({ length: 10 }, (_, number) => `key ${number}`)

test('no command is given the reply to another one', async () => {
  await using proxy = await startProxy(server)
  for (const key of keys) await server.client.set(key, key)
  const client = ending(nodeRedis({ url: `redis://${proxy.host}:${proxy.port}` }))
  expect(await wrongReplies(client, keys, () => proxy.cut())).toBe(0)
})

test('nor on a cluster', async () => {
  await using network = await startNetwork(cluster.nodes)
  const client = ending(
    createCluster({
      rootNodes: network.addressesOf(cluster.nodes).map((socket) => ({ socket })),
      nodeAddressMap: network.natMap,
    }) as unknown as ReturnType<typeof nodeRedisCluster>,
  )
  client.on('error', () => {})
  await client.connect()
  for (const key of keys) await portOf(client).call('set', key, [key])
  expect(await wrongReplies(client, keys, () => network.cut())).toBe(0)
})

test('the client of the user is left as it was', async () => {
  const client = ending(nodeRedis({ url: server.url }))
  await once(client, 'ready')
  // It holds writes back from then on, for the commands of the user, too.
  portOf(client)
  const before = [Object.keys(client), client.eventNames(), client.listenerCount('error')]
  const cache = createCache({ store: redisStore(client), commandTimeout: '30s' })
  await cache.getOrLoad('key', () => 1, { ttl: '1m' })
  await cache.close()
  expect([Object.keys(client), client.eventNames(), client.listenerCount('error')]).toEqual(before)
  expect(client.isReady).toBe(true)
  await until('only the connections of the client and of the test are left', async () => {
    const clients = String(await server.client.client('LIST'))
    return clients.trim().split('\n').length === 2
  })
})

function subscribed(client: OpenClient, events: Partial<SubscriberEvents> = {}): RedisSubscriber {
  const unheard = { opened: () => {}, lost: () => {}, failed: () => {}, message: () => {} }
  const subscriber = portOf(client).subscriber('channel', { ...unheard, ...events })
  onTestFinished(() => subscriber.close())
  return subscriber
}

test('a subscriber of node-redis comes back however often it is interrupted', async () => {
  const client = ending(
    nodeRedis({ url: server.url, socket: { reconnectStrategy: (retries) => (retries > 1 ? false : 10) } }),
  )
  const opened = vi.fn<() => void>()
  const lost = vi.fn<() => void>()
  const subscriber = subscribed(client, { opened, lost })
  for (let time = 1; time <= 3; time++) {
    await until('it is open', () => opened.mock.calls.length === time)
    await subscriber.subscribe()
    await server.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await until('it is lost', () => lost.mock.calls.length === time)
  }
  await until('it is open', () => subscriber.isOpen)
  expect(opened).toHaveBeenCalledTimes(4)
})

test('a subscriber of node-redis does not go on when its server is away and it is closed', async () => {
  const server = await startRedis()
  const client = ending(nodeRedis({ url: server.url }))
  const opened = vi.fn<() => void>()
  const subscriber = subscribed(client, { opened })
  await until('it is open', () => subscriber.isOpen)
  await server.kill()
  await until('it is lost', () => !subscriber.isOpen)
  subscriber.close()
  await server.restart()
  await until('the client is back', () => client.isReady)
  expect(opened).toHaveBeenCalledTimes(1)
  await server.stop()
})

test('a user of node-redis with the least rights needs PING for its subscription, and no INFO', async () => {
  const rights =
    '~{shop:* &herdless:inbox:* +get +mget +set +del +getrange +hget +hmget +hset +hdel +hkeys +pttl +pexpire +time ' +
    '+evalsha +eval +script|load +publish +subscribe +pubsub|numsub +ping'
  await server.client.acl('LOG', 'RESET')
  await server.client.call('ACL', 'SETUSER', 'shop', 'on', '>secret', ...rights.split(' '))
  const client = ending(nodeRedis({ url: server.url, username: 'shop', password: 'secret' }))
  await using cache = createCache({ store: redisStore(client), namespace: 'shop', near: {}, commandTimeout: '30s' })
  await until('it is subscribed', async () => {
    return (await server.client.pubsub('CHANNELS', 'herdless:inbox:*')).length === 1
  })
  await cache.set('key', 1, { ttl: '1m' })
  expect(await cache.getOrLoad('key', never)).toBe(1)
  const log = (await server.client.acl('LOG')) as unknown[][]
  const refused = log
    .map((entry) => String(entry[entry.indexOf('object') + 1]))
    .filter((what) => !what.startsWith('client'))
  expect(refused).toEqual([])
})

test('a subscriber of node-redis does not take a connection for alive on which nothing arrives', async () => {
  await using proxy = await startProxy(server)
  const client = ending(nodeRedis({ url: `redis://${proxy.host}:${proxy.port}` }))
  const subscriber = subscribed(client)
  await until('it is open', () => subscriber.isOpen)
  await subscriber.subscribe()
  proxy.blackHole('replies')
  let answered = false
  const again = subscriber.subscribe().then(() => (answered = true))
  await server.client.ping()
  expect(answered).toBe(false)
  proxy.heal()
  expect(await again).toBe(true)
})
