import { afterAll, afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../tools/until.mjs'
import type { Busy, Hold, TakeRequest, TakeResult } from '../../src/core/contract/lock-backend.ts'
import { tokenLength } from '../../src/core/lease/token.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { RedisLocks } from '../../src/redis/locks/locks.ts'
import { Inbox } from '../../src/redis/push/inbox.ts'
import { startRedis } from '../support/servers.ts'

const server = await startRedis()

beforeEach(() => server.client.flushall())

afterEach(() => void vi.restoreAllMocks())

afterAll(() => server.stop())

/** The token of a request, made of one letter. */
function tokenOf(letter: string): string {
  return letter.repeat(tokenLength)
}

/** How locks ask Redis for the one in question. */
async function opened({ stealFromDead = false } = {}) {
  const options = { prefix: '', wakeUp: 'push', stealFromDead, minReplicas: 0, replicaTimeout: 0 } as const
  const locks = new RedisLocks(portOf(server.connect()), options)
  locks.open()
  onTestFinished(() => locks.close())
  const take = (who: string, waits: TakeRequest['waits'] = 'fair'): Promise<TakeResult> =>
    locks.take({ name: 'job', token: tokenOf(who), ttl: 60_000, waits })
  const held = async (who: string): Promise<Hold> => {
    const taken = await take(who)
    if (taken.state === 'busy') throw new Error('Expected the lock to be granted')
    return taken.hold
  }
  const listens = async (): Promise<boolean> => (await server.client.pubsub('CHANNELS', 'herdless:inbox:*')).length > 0
  await until('it listens', listens)
  return { locks, take, held }
}

/** The waiters in the queue, without their inboxes. */
async function queue(): Promise<string[]> {
  const waiters = await server.client.zrange('{job}:queue', '0', '-1')
  return waiters.map((waiter) => waiter.slice(0, tokenLength))
}

test('a waiter for a lock on Redis has one place, whether its subscription comes or goes meanwhile', async () => {
  const { locks, take, held } = await opened()
  const name = Object.getOwnPropertyDescriptor(Inbox.prototype, 'name') as { get: (this: Inbox) => string }
  let isUp = false
  vi.spyOn(Inbox.prototype, 'name', 'get').mockImplementation(function (this: Inbox) {
    return isUp ? name.get.call(this) : ''
  })
  const hold = await held('h')
  await take('a')
  await take('b')
  for (const now of [true, false, true]) {
    isUp = now
    await take('a')
    expect(await queue()).toEqual([tokenOf('a'), tokenOf('b')])
  }
  const busy = (await take('a')) as Busy
  await locks.release(hold)
  await busy.freed
  await busy.giveUp()
  expect(await queue()).toEqual([tokenOf('b')])
})

test('a dead holder of a lock on Redis is replaced, though the first waiter is as dead', async () => {
  const { take } = await opened({ stealFromDead: true })
  const nowhere = 'herdless:inbox:nobody'
  const inAnHour = Date.now() + 3_600_000
  await server.client.set('job', `${tokenOf('h')}@${nowhere}`, 'PX', 3_600_000)
  await server.client.zadd('{job}:queue', '1', tokenOf('a') + nowhere)
  await server.client.zadd('{job}:places', String(inAnHour), tokenOf('a') + nowhere)
  expect(((await take('b')) as Busy).left).toBeLessThanOrEqual(50)
  await until('it has the lock', async () => (await take('b')).state === 'held')
})

test('a suspicion of a holder is gone with it', async () => {
  const { held } = await opened({ stealFromDead: true })
  await server.client.set('{job}:suspect', 1, 'PX', 60_000)
  await held('h')
  expect(await server.client.exists('{job}:suspect')).toBe(0)
})

test('a request that is sent again has a fence, though Redis has evicted the last one', async () => {
  const { held } = await opened()
  const { fence } = await held('h')
  await server.client.del('{job}:fence')
  expect((await held('h')).fence).toBeGreaterThan(fence as bigint)
})

test('a lock that this user may not read is not lost by that', async () => {
  const { locks, held } = await opened()
  const hold = await held('h')
  await server.forbid('get')
  onTestFinished(() => server.permit('get'))
  await expect(locks.renew([hold])[0]).rejects.toThrow(/NOPERM|can't run/)
  await server.permit('get')
  await server.client.del('job')
  await server.client.rpush('job', 'theirs')
  expect(await locks.renew([hold])[0], 'another type').toBe(false)
})
