import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createCache, type Cache, type CacheOptions } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { allow, ruleOn } from '../docs/acl.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'

function open(server: RedisServer, options: CacheOptions = {}): Cache {
  return createCache({ commandTimeout: '30s', ...options, store: redisStore(server.connect()) })
}

async function inboxes(server: RedisServer, count: number): Promise<string[]> {
  return until('all have subscribed', async () => {
    const all = (await server.client.pubsub('CHANNELS', 'herdless:inbox:*')) as string[]
    return all.length === count && all
  })
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Bytes that this process keeps, once all garbage is gone. */
async function kept(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

test('messages of a stranger leave nothing in memory, however many and large', async () => {
  await using server = await startRedis()
  const cache = open(server)
  const stranger = server.connect()
  await cache.getOrLoad('key', () => 1)
  const [inbox = ''] = await inboxes(server, 1)
  const flood = async (rounds: number, bytes: number): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      const pipeline = stranger.pipeline()
      for (let index = 0; index < 100; index++) {
        const token = `${round}-${index}-`.padEnd(16, '-')
        pipeline.publish(inbox, Buffer.concat([Buffer.from(`${'vrfpa'[index % 5]}${token}`), Buffer.alloc(bytes, 'x')]))
      }
      // While claims are under way: that is when messages are kept for those who have yet to listen.
      const loads = Array.from({ length: 10 }, (_, index) => cache.getOrLoad(`${bytes} ${round} ${index}`, () => index))
      await pipeline.exec()
      await Promise.all(loads)
    }
  }
  await flood(10, 100)
  const before = await kept()
  await flood(10, 50_000)
  // The last of them may still be on their way.
  const isGone = async (): Promise<boolean> => (await kept()) - before < 5_000_000
  expect(await until('nothing is left of them', isGone, 60_000)).toBe(true)
  await cache.close()
})

test('of large messages little is kept, however long a claim is under way', async () => {
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  const client = server.connect({ host: proxy.host, port: proxy.port })
  client.duplicate = () => server.connect()
  const cache = createCache({ store: redisStore(client), commandTimeout: '1m', waitTimeout: '1m' })
  const stranger = server.connect()
  await cache.getOrLoad('warm', () => 1)
  const [inbox = ''] = await inboxes(server, 1)
  const claiming = proxy.stopAt('evalsha')
  const loading = cache.getOrLoad('key', () => 'loaded')
  await claiming
  const before = await kept()
  const heard = new Promise<void>((resolve) => {
    const listener = server.connect()
    listener.on('message', (_channel: string, message: string) => message.startsWith('the end') && resolve())
    void listener.subscribe(inbox).then(() => stranger.publish(inbox, 'begin'))
  })
  for (let index = 0; index < 120; index++) {
    await stranger.publish(
      inbox,
      Buffer.concat([Buffer.from(`v${String(index).padEnd(16, '-')}`), Buffer.alloc(500_000)]),
    )
  }
  await stranger.publish(inbox, 'the end')
  await heard
  expect((await kept()) - before).toBeLessThan(30_000_000)
  proxy.heal()
  expect(await loading).toBe('loaded')
  await cache.close()
})

describe('with the rights that the page gives to an application', () => {
  const rule = ruleOn('docs/redis.md', 'push').map((word) => word.replace('shop', 'blog'))

  test('nobody learns the inbox or the token of another, without which no message is heard', async () => {
    await using server = await startRedis()
    await allow(server, rule)
    const shop = open(server, { namespace: 'shop' })
    const blog = new Redis({ ...server.address, username: 'blog', password: 'secret' })
    let finish!: (value: string) => void
    const begun = new Promise<void>((resolve) => void shop.on('load', () => resolve()))
    const loading = shop.getOrLoad('key', () => new Promise<string>((resolve) => (finish = resolve)))
    await begun
    const [inbox = ''] = await inboxes(server, 1)
    const attempts = [
      ['PUBSUB', 'CHANNELS', '*'],
      ['PSUBSCRIBE', 'herdless:inbox:*'],
      ['HGETALL', '{shop:key}:lease'],
      ['HMGET', '{shop:key}:lease', 'token', 'inbox'],
      ['GET', '{shop:key}'],
      ['CLIENT', 'LIST'],
      ['MONITOR'],
      ['SLOWLOG', 'GET'],
      ['SCRIPT', 'DEBUG', 'YES'],
      ['EVAL', `return redis.call('HGETALL', '{shop:key}:lease')`, '0'],
      ['EVAL', `return redis.call('PUBSUB', 'CHANNELS')`, '0'],
    ] as const
    for (const [command, ...args] of attempts) {
      const answer = await blog.call(command, ...args).catch((error: unknown) => String(error))
      expect({ command, answer }).toEqual({
        command,
        answer: expect.stringMatching(/NOPERM|permission|can't (run|access)/i) as string,
      })
    }
    // And had it guessed the inbox, it would still lack the token.
    for (const kind of 'vrfpat') await blog.publish(inbox, `${kind}${'0'.repeat(16)}{"message":"forged"}`)
    finish('the value')
    expect(await loading).toBe('the value')
    blog.disconnect()
    await shop.close()
  })
})
