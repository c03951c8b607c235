import { Redis } from 'ioredis'
import { beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { missingFor, startCluster, startRedis, startSentinel, type RedisServer } from '../support/servers.ts'

/** How far the server's clock is ahead of ours, in milliseconds. */
async function lead({ client }: RedisServer): Promise<number> {
  const [seconds, microseconds] = (await client.time()) as unknown as [number, number]
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000 - Date.now()
}

describe('the clock of a server', async () => {
  const missing = await missingFor('clock')
  beforeEach(({ skip }) => skip(missing !== undefined, missing))

  test('is that of the machine, until it is set forwards or backwards', async () => {
    await using server = await startRedis({ clock: 'adjustable' })
    expect(Math.abs(await lead(server))).toBeLessThan(1_000)
    for (const shift of [60_500, -60_500, 0]) {
      await server.shiftClock(shift)
      expect(Math.abs((await lead(server)) - shift)).toBeLessThan(1_000)
      const [seconds] = (await server.client.eval("return redis.call('TIME')", 0)) as [string]
      expect(Math.abs(Number(seconds) * 1_000 - Date.now() - shift)).toBeLessThan(2_000)
    }
  })

  test('decides when keys expire', async () => {
    await using server = await startRedis({ clock: 'adjustable' })
    const { client } = server
    await client.set('key', 'value', 'PX', 30_000)
    await server.shiftClock(60_000)
    expect(await client.get('key')).toBeNull()
    await client.set('key', 'value', 'PX', 30_000)
    await server.shiftClock(-60_000)
    expect(await client.get('key')).toBe('value')
    expect(await client.pttl('key')).toBeGreaterThan(140_000)
  })

  test('may be that of one node of a cluster, or of one server under sentinels', async () => {
    await using cluster = await startCluster({ clock: 'adjustable' })
    await using group = await startSentinel({ replicas: 1, clock: 'adjustable' })
    for (const [one, other] of [cluster.nodes, group.servers] as [RedisServer, RedisServer][]) {
      await one.shiftClock(60_000)
      expect(await lead(one)).toBeGreaterThan(59_000)
      expect(await lead(other)).toBeLessThan(1_000)
      await one.shiftClock(0)
    }
    await cluster.whole()
    await group.whole()
  })
})

describe('the memory of a server', () => {
  test('that is exhausted takes no write, not even from a script, until it is freed', async () => {
    await using server = await startRedis()
    const { client } = server
    await client.set('key', 'value')
    await server.exhaustMemory()
    await expect(client.set('key', 'again')).rejects.toThrow('OOM')
    await expect(client.eval("return redis.call('SET', KEYS[1], 'again')", 1, 'key')).rejects.toThrow('OOM')
    expect(await client.get('key')).toBe('value')
    await server.freeMemory()
    expect(await client.set('key', 'again')).toBe('OK')
  })

  test('that is tight holds on to no key in particular, until it is freed', async () => {
    await using server = await startRedis()
    const { client } = server
    const fill = async (name: string): Promise<void> => {
      for (let number = 0; number < 200; number++) await client.set(`${name}:${number}`, 'x'.repeat(1_000))
    }
    await fill('before')
    await server.tightenMemory()
    await fill('after')
    expect(await client.dbsize()).toBeLessThan(300)
    await server.freeMemory()
    await client.flushall()
    await fill('freed')
    expect(await client.dbsize()).toBe(200)
  })

  test('loses first what would expire first', async () => {
    await using server = await startRedis()
    const { client } = server
    for (let number = 0; number < 50; number++) {
      await client.set(`value:${number}`, 'x'.repeat(500), 'PX', 300_000)
      await client.hset(`lease:${number}`, 'state', 'held', 'token', 'abcdefghijklmnop')
      await client.pexpire(`lease:${number}`, 10_000)
    }
    let evicted = 0
    while (evicted < 20) {
      const more = await server.evict()
      expect(more).toBeGreaterThan(0)
      evicted += more
    }
    expect(await client.keys('value:*')).toHaveLength(50)
    expect(await client.keys('lease:*')).toHaveLength(50 - evicted)
    expect(await client.set('key', 'x'.repeat(100_000))).toBe('OK')
  })
})

describe('a server that loads its data', () => {
  test('answers LOADING for a while, and has its keys then', async () => {
    await using server = await startRedis()
    await server.client.set('key', 'value')
    await server.restartLoading(1_500)
    await expect(server.client.get('key')).rejects.toThrow('LOADING')
    await until('it has loaded', () => server.client.get('key'))
    expect(await server.client.get('key')).toBe('value')
    await server.restart()
    expect(await server.client.dbsize()).toBe(0)
  })
})

test('a server that is read-only refuses writes and answers reads, until it is writable', async () => {
  await using server = await startRedis()
  const { client } = server
  await client.set('key', 'value')
  await server.makeReadOnly()
  await expect(client.set('key', 'again')).rejects.toThrow('READONLY')
  expect(await client.get('key')).toBe('value')
  await server.makeWritable()
  expect(await client.set('key', 'again')).toBe('OK')
})

describe('a server with a password', () => {
  test('lets nobody in who does not know it', async () => {
    await using server = await startRedis({ password: 'of the house' })
    expect(await server.connect().ping()).toBe('PONG')
    const byUrl = new Redis(server.url)
    expect(await byUrl.ping()).toBe('PONG')
    byUrl.disconnect()
    const stranger = server.connect({ password: 'wrong', retryStrategy: null })
    await expect(stranger.ping()).rejects.toThrow('WRONGPASS')
    await server.restart()
    expect(await server.client.ping()).toBe('PONG')
  })

  test('can change it: who is connected is asked again', async () => {
    await using server = await startRedis({ password: 'of the house' })
    const client = server.connect({ maxRetriesPerRequest: 0 })
    // Where ioredis subscribes again and is cut off meanwhile, it leaves a rejection unhandled.
    const subscriber = server.connect({ maxRetriesPerRequest: 0, autoResubscribe: false })
    await subscriber.subscribe('channel')
    await client.ping()
    await server.changePassword('of another')
    await expect(client.ping()).rejects.toThrow(/closed|WRONGPASS|max retries/)
    await until('both are out', () => client.status !== 'ready' && subscriber.status !== 'ready')
    await server.changePassword()
    await until('one is in again', async () => (await client.ping()) === 'PONG')
    await until('the other is too', () => subscriber.status === 'ready')
  })
})

test('a command can be taken away from a user while it is connected, and given back', async () => {
  await using server = await startRedis()
  const client = server.connect()
  await client.set('key', 'value')
  await server.forbid('get')
  await expect(client.get('key')).rejects.toThrow('NOPERM')
  await expect(client.eval("return redis.call('GET', KEYS[1])", 1, 'key')).rejects.toThrow(
    /permission|NOPERM|can't run/,
  )
  await server.permit('get')
  expect(await client.get('key')).toBe('value')
})

describe('a server with TLS', async () => {
  const missing = await missingFor('tls')

  test('lets in who trusts its authority, and nobody else', async ({ skip }) => {
    skip(missing !== undefined, missing)
    await using server = await startRedis({ tls: true, password: 'of the house' })
    expect(server.address.tls).toEqual({ ca: expect.stringContaining('BEGIN CERTIFICATE') })
    expect(await server.connect().ping()).toBe('PONG')
    const wary = server.connect({ tls: {}, retryStrategy: null, maxRetriesPerRequest: 0 })
    const refusal = new Promise((resolve) => wary.on('error', resolve))
    await expect(wary.ping()).rejects.toThrow('Connection is closed')
    expect(await refusal).toMatchObject({ code: 'SELF_SIGNED_CERT_IN_CHAIN' })
    const plain = new Redis({ host: '127.0.0.1', port: server.port, retryStrategy: null, maxRetriesPerRequest: 0 })
    plain.on('error', () => {})
    await expect(plain.ping()).rejects.toThrow('Connection is closed')
    await server.restart()
    expect(await server.client.ping()).toBe('PONG')
  })
})
