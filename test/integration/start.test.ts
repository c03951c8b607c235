import type { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { createCache, type Cache } from '../../src/index.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisStore, type RedisPort } from '../../src/redis/index.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { disconnect, openClient, portWith, type OpenClient } from '../support/node-redis.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis } from '../support/servers.ts'
import { until } from '../../tools/until.mjs'

test('a hundred keys that are read before the time of the server is known ask for it once', async () => {
  await using server = await startRedis()
  const client = openClient(server.address)
  await server.resetCounts()
  await using cache = createCache({ store: redisStore(client), commandTimeout: '30s' })
  const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`)
  const found = await Promise.all(keys.map((key) => cache.peek(key)))
  expect(found.every(({ state }) => state === 'missing')).toBe(true)
  // One when the store is opened, and one for those who cannot wait for it.
  expect((await server.commandCounts())['time']).toBeLessThanOrEqual(2)
})

test('of many leases that are granted while the subscription comes, each is renewed once', async () => {
  await using server = await startRedis()
  const { client: operator } = server
  await operator.acl('SETUSER', 'default', 'resetchannels')
  const client = openClient(server.address)
  await using cache = createCache({
    store: redisStore(client),
    commandTimeout: '1m',
    waitTimeout: '5m',
    leaseTtl: '5m',
  })
  let isTold = false
  cache.on('push', ({ up }) => (isTold = up))
  // Without a subscription, which the first claim waits for.
  await cache.getOrLoad('first', () => 1)
  const many = 1_000
  await operator.call('CLIENT', 'PAUSE', 120_000, 'WRITE')
  await server.resetCounts()
  let begun = 0
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => (end = resolve))
  const keys = Array.from({ length: many }, (_, index) => `key ${index}`)
  const loads = Promise.allSettled(keys.map((key) => cache.getOrLoad(key, () => (begun++, ended))))
  await until('the claims are under way', async () => /blocked_clients:[1-9]/.test(await operator.info('clients')))
  await operator.acl('SETUSER', 'default', 'allchannels')
  await until('the subscription is there', () => isTold)
  await operator.call('CLIENT', 'UNPAUSE')
  await until('all are loaded', () => begun === many, 60_000)
  const watched = async (): Promise<boolean> => {
    const [first, last] = [keys[0], keys[many - 1]].map((key) => `{herdless:${key}}:lease`) as [string, string]
    const inboxes = await Promise.all([first, last].map((lease) => operator.hget(lease, 'watched')))
    return inboxes.every((inbox) => inbox === '1')
  }
  await until('other processes can tell whether this one lives', watched)
  // A claim and a renewal of a hundred each, and again where a busy machine is late with the heartbeat of the inbox.
  expect((await server.commandCounts())['evalsha']).toBeLessThan(many / 10)
  end()
  expect((await loads).filter(({ status }) => status === 'rejected')).toEqual([])
  disconnect(client)
})

test('a first connection may take longer than the deadline of a command', async () => {
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  proxy.blackHole('replies')
  const client = openClient({ host: proxy.host, port: proxy.port })
  const clock = new FakeClock()
  await using cache = createCache({ store: redisStore(client), clock, commandTimeout: 1_000 })
  const [set, loaded] = [cache.set('key', 'value', { ttl: '1m' }), cache.getOrLoad('other', () => 1, { ttl: '1m' })]
  // It may take four times as long.
  await clock.advance(3_900)
  proxy.heal()
  await Promise.all([set, loaded])
  expect(await server.client.exists('{herdless:key}', '{herdless:other}')).toBe(2)
  disconnect(client)
})

test('a first connection that is refused is over, so that nobody waits for it', async () => {
  const server = await startRedis()
  await server.stop()
  const client = openClient(server.address)
  await using cache = createCache({ store: redisStore(client), commandTimeout: 100 })
  await portOf(client).connected
  await expect(cache.set('key', 1, { ttl: '1m' })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  disconnect(client)
})

test('a set that was given up before the first connection overwrites nothing (rule 4)', async () => {
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  proxy.refuse()
  const clients = [proxy, server].map(({ port }) => openClient({ host: '127.0.0.1', port })) as [OpenClient, OpenClient]
  await using far = createCache({ store: redisStore(clients[0]), ttl: '1h' })
  await using near = createCache({ store: redisStore(clients[1]), commandTimeout: '30s', ttl: '1h' })
  const keys = [
    ['key', []],
    ['tagged', ['tag']],
  ] as const
  await portOf(clients[0]).connected
  // Together: once one is not answered, the store counts as away, and no other is sent.
  const sets = await Promise.allSettled(keys.map(([key, tags]) => far.set(key, 'given up', { tags })))
  expect(sets).toMatchObject(keys.map(() => ({ reason: { code: 'STORE_UNAVAILABLE' } })))
  for (const [key, tags] of keys) await near.set(key, 'newer', { tags })
  proxy.accept()
  // It deletes, and all that its client has kept comes before the answer to this.
  await until('it is answered', () => far.peek('key'))
  for (const [key] of keys) {
    await until('no value given up is there', async () => (await near.peek(key)).state === 'missing')
  }
  clients.forEach(disconnect)
})

test('a set that was given up while its first connection took too long is not sent', async () => {
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  proxy.blackHole('replies')
  const clients = [proxy, server].map(({ port }) => openClient({ host: '127.0.0.1', port })) as [OpenClient, OpenClient]
  const clock = new FakeClock()
  await using far = createCache({ store: redisStore(clients[0]), clock, commandTimeout: 1_000, ttl: '1h' })
  await using near = createCache({ store: redisStore(clients[1]), commandTimeout: '30s', ttl: '1h' })
  const set = far.set('key', 'given up').catch((error: unknown) => error)
  await clock.advance(4_000)
  expect(await set).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await near.set('key', 'newer')
  proxy.heal()
  const port = portOf(clients[0])
  await port.connected
  // What it sends then comes before these, which it waits for.
  for (let times = 0; times < 3; times++) await port.call('ping', null, [])
  expect(await near.peek('key')).toMatchObject({ value: 'newer' })
  clients.forEach(disconnect)
})

test('a store that somebody closes who has not opened it stays open for its caches', async () => {
  await using server = await startRedis()
  const client = openClient(server.address)
  let closed = 0
  const subscriber: RedisPort['subscriber'] = (channel, events) => {
    const own = portOf(client).subscriber(channel, events)
    return Object.assign(Object.create(own) as typeof own, {
      close: () => {
        closed++
        own.close()
      },
    })
  }
  const store = redisStore(portWith({ subscriber }, client))
  const [one, other] = ['one', 'other'].map((namespace) => createCache({ store, namespace, ttl: '1m' })) as [
    Cache,
    Cache,
  ]
  await one.getOrLoad('key', () => 1)
  await store.close()
  await other.close()
  expect(closed).toBe(0)
  await one.close()
  expect(closed).toBe(1)
  disconnect(client)
})

test('many stores on one client add few listeners to it, and leave none', async () => {
  await using server = await startRedis()
  const client = openClient(server.address)
  const warnings: Error[] = []
  const heard = (warning: Error): void => void warnings.push(warning)
  process.on('warning', heard)
  const events = client as unknown as EventEmitter
  const listeners = (): number => events.eventNames().reduce((sum, event) => sum + events.listenerCount(event), 0)
  const open = (n: number) => createCache({ namespace: `n${n}`, store: redisStore(client), commandTimeout: '30s' })
  // From the first store on, a client of node-redis holds its writes back while its connection is lost.
  const first = open(0)
  await first.getOrLoad('key', () => 1, { ttl: '1m' })
  await first.close()
  const before = listeners()
  const caches = [open(0)]
  await caches[0]?.getOrLoad('key', () => 1, { ttl: '1m' })
  const ofOne = listeners()
  for (let number = 1; number < 15; number++) caches.push(open(number))
  await Promise.all(caches.map((cache) => cache.getOrLoad('key', () => 1, { ttl: '1m' })))
  expect(listeners()).toBe(ofOne)
  await Promise.all(caches.map((cache) => cache.close()))
  expect(listeners()).toBe(before)
  await new Promise(setImmediate)
  process.off('warning', heard)
  expect(warnings).toEqual([])
})
