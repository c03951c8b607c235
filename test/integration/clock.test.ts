import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createCache, type CacheOptions } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { patient, reuseProcesses, startFleet, tally, type Member } from '../support/fleet.ts'
import { startRedis } from '../support/servers.ts'

const hour = 3_600_000

reuseProcesses()
const server = await startRedis()
const redis = { options: server.address }

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

/** What is in Redis looks as if the server's clock had been an hour ahead when it was written. */
async function setBack(key: string): Promise<void> {
  const { client } = server
  const value = await client.getBuffer(`{herdless:${key}}`)
  if (value !== null) {
    for (const place of [18, 24, 30]) value.writeUIntBE(value.readUIntBE(place, 6) + hour, place, 6)
    await client.set(`{herdless:${key}}`, value, 'KEEPTTL')
  }
  for (const each of [`{herdless:${key}}`, `{herdless:${key}}:lease`]) {
    const left = await client.pttl(each)
    if (left > 0) await client.pexpire(each, left + hour)
  }
}

describe('after the clock of Redis has been set back by an hour', () => {
  test('a dead holder is replaced when its lease would have ended (rule 10)', async () => {
    const cache = { ...patient, leaseTtl: 2_000 }
    await using fleet = await startFleet({ redis, store: { wakeUp: 'poll' }, cache })
    const [holder, other] = fleet.members as [Member, Member]
    await holder.ask('key')
    const first = await fleet.load(0)
    await first.process.kill()
    await setBack('key')
    // Otherwise it would have an hour more, which is longer than this waits.
    const { answers } = await other.ask('key', { loader: { ms: 0 }, options: { waitTimeout: '2m' } })
    expect(tally(await answers)).toEqual([{ told: 'key by load 0 of process 1', callers: 1 }])
  })

  test('an error is remembered no longer than it was to be', async () => {
    await using fleet = await startFleet({ redis, cache: { ...patient, failureCooldown: '1m' } })
    const [one, other] = fleet.members as [Member, Member]
    await one.get('key', { ms: 0, error: { name: 'Error', message: 'down' } })
    await setBack('key')
    expect((await other.get('key')).error?.code).toBe('LOAD_FAILED')
    expect(await server.client.pttl('{herdless:key}:lease')).toBeLessThanOrEqual(60_000)
  })

  test.for([{ grace: 0 }, { grace: '1h' }] satisfies CacheOptions[])(
    'a value of which nobody can say how old it is is loaded again (%o)',
    async (options) => {
      await using cache = createCache({ store: redisStore(server.connect()), ...patient, ...options })
      expect(await cache.getOrLoad('key', () => 'old')).toBe('old')
      await setBack('key')
      expect(await cache.peek('key')).toEqual({ state: 'missing' })
      expect(await cache.getOrLoad('key', () => 'new')).toBe('new')
      expect(await cache.getOrLoad('key', () => 'newer')).toBe('new')
    },
  )
})
