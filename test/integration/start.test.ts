import type { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { createCache } from '../../src/index.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisStore } from '../../src/redis/index.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { disconnect, openClient } from '../support/node-redis.ts'
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
