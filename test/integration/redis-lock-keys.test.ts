import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import type { Hold, TakeRequest, TakeResult } from '../../src/core/contract/lock-backend.ts'
import { tokenLength } from '../../src/core/lease/token.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { RedisLocks } from '../../src/redis/locks/locks.ts'
import { startRedis } from '../support/servers.ts'

const server = await startRedis()

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

/** The token of whoever is called by this letter. */
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
