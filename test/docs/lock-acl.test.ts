import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { until } from '../../tools/until.mjs'
import { redisLock, type RedisLockOptions } from '../../src/redis/index.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'
import { allow, denied, named, refusedWithout, ruleOn, type Denied } from './acl.ts'

const rule = ruleOn('docs/locks.md', 'lock')

/** Makes locks send everything that they ever send. */
async function useAll(server: RedisServer, connect: () => Redis, options: RedisLockOptions = {}): Promise<void> {
  await server.client.flushall()
  await server.client.script('FLUSH')
  // Somebody who died, and one who went away from the queue.
  await server.client.set('lock:dead', `${'t'.repeat(16)}@herdless:inbox:nobody`, 'PX', 5_000)
  await server.client.zadd('{lock:left}:queue', 1, 'x'.repeat(16))
  await server.client.zadd('{lock:left}:places', 1, 'x'.repeat(16))
  const plan = { stealFromDead: true, fair: true, wait: 300, ttl: 60, commandTimeout: 300, ...options }
  const [one, other] = [redisLock(connect(), plan), redisLock(connect(), plan)]
  const nothing = (): null => null
  try {
    await one.run('dead', nothing).catch(nothing)
    await server.client.script('FLUSH')
    await one.run('left', nothing).catch(nothing)
    const lease = await one.acquire('job').catch(nothing)
    const next = other.acquire('job').catch(nothing)
    await lease?.extend().catch(nothing)
    await until('it waits', async () => (await server.client.exists('{lock:job}:queue')) === 1, 300).catch(nothing)
    await lease?.release()
    await next
  } finally {
    await Promise.all([one.close(), other.close()])
  }
}

describe('the rule for a user of locks', () => {
  let server: RedisServer

  beforeAll(async () => {
    server = await startRedis()
  })

  afterAll(async () => {
    await server?.stop()
  })

  /** Everything as this user, and what was refused meanwhile. */
  async function refused(words: readonly string[], options?: RedisLockOptions): Promise<Denied[]> {
    await allow(server, words)
    const clients: Redis[] = []
    const connect = (): Redis => {
      const client = new Redis({ ...server.address, username: 'jobs', password: 'secret' })
      client.on('error', () => {})
      clients.push(client)
      return client
    }
    try {
      await useAll(server, connect, options)
    } finally {
      for (const client of clients) client.disconnect()
    }
    return denied(server)
  }

  test('is enough', async () => {
    expect(await refused(rule)).toEqual([])
  })

  test('is enough to wait for replicas, with what the page adds for that', async () => {
    expect(named(await refused(rule, { minReplicas: 1 }))).toContain('+wait')
    expect(named(await refused([...rule, '+wait'], { minReplicas: 1 }))).toEqual([])
  })

  test.for(rule.filter((word) => /^[+~&]/.test(word)))('needs %s', async (word) => {
    // ioredis says that it goes without INFO.
    vi.spyOn(console, 'warn').mockReturnValue()
    const rest = rule.filter((other) => other !== word)
    expect(named(await refused(rest))).toContain(refusedWithout(word))
  })
})
