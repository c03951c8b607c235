import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { createCache, type Cache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { startRedis } from '../support/servers.ts'

const server = await startRedis()

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

const token = 't'.repeat(16)

/** What no script of ours leaves at the key of a lease, or only one that was not allowed to finish. */
const odd: Record<string, Record<string, string>> = {
  'a held lease without a token': { state: 'held' },
  'a held lease without a token, whose holder listens no more': { state: 'held', inbox: 'nobody', watched: '1' },
  'a held lease without an inbox': { state: 'held', token, watched: '1' },
  'a held lease for ever': { state: 'held', token, inbox: 'nobody' },
  'a failure for ever': { state: 'failed', token, error: '{"code":"LOAD_FAILED","message":"old"}' },
  'a failure without anything': { state: 'failed' },
  '"do not queue" for ever': { state: 'pass', token },
  'a state that there is not': { state: 'parked', token, '>herdless:inbox:x': '' },
  'a ttl that is no number': { state: 'held', token, ttl: 'abc' },
  'a ttl without a state': { ttl: '5' },
  'a ttl of half a millisecond': { state: 'pass', token, ttl: '0.5' },
  'a ttl without an end': { state: 'failed', token, ttl: 'inf' },
  'a version that is no number': { state: 'parked', token, version: 'abc' },
  'an infinite version': { state: 'parked', token, version: 'inf' },
  'a suspicion that is no number': { state: 'held', token, watched: '1', inbox: 'nobody', suspect: 'nan' },
}

test.for(Object.entries(odd))('%s holds up nobody, and nothing of it stays', async ([, fields]) => {
  const [one, other] = [server.connect(), server.connect()].map((client) =>
    createCache({ store: redisStore(client), onStoreFailure: 'throw', commandTimeout: '30s', namespace: 'odd' }),
  ) as [Cache, Cache]
  for (const work of ['load', 'set', 'invalidate'] as const) {
    const lease = `{odd:${work}}:lease`
    await server.client.hset(lease, fields)
    if (work === 'set') await one.set(work, 'set')
    if (work === 'invalidate') await one.invalidate(work)
    const load = vi.fn(() => 'loaded')
    const expected = work === 'set' ? 'set' : 'loaded'
    expect(await Promise.all([one, one, other].map((cache) => cache.getOrLoad(work, load)))).toEqual(
      Array.from({ length: 3 }, () => expected),
    )
    expect(load).toHaveBeenCalledTimes(work === 'set' ? 0 : 1)
    expect(await other.peek(work)).toMatchObject({ state: 'fresh', value: expected })
    expect(await server.client.exists(lease)).toBe(0)
  }
  await Promise.all([one.close(), other.close()])
})

test('nothing stays in Redis without an expiry', async () => {
  await using cache = createCache({ store: redisStore(server.connect()), namespace: 'n', commandTimeout: '30s' })
  await cache.getOrLoad('filled', () => 1)
  await cache.set('set', 1)
  await cache.getOrLoad('failed', () => Promise.reject(new Error('down'))).catch(() => null)
  await cache.getOrLoad('passed', ({ doNotStore }) => doNotStore())
  let end!: (value: number) => void
  const loading = new Promise((resolve) => cache.on('load', resolve))
  const held = cache.getOrLoad('held', () => new Promise<number>((resolve) => (end = resolve)))
  await loading
  const keys = await server.client.keys('*')
  const expected = ['{n:failed}:lease', '{n:held}:lease', '{n:passed}:lease', '{n:filled}', '{n:set}', '{n:}']
  expect(keys.toSorted()).toEqual(expected.toSorted())
  const left = await Promise.all(keys.map((key) => server.client.pttl(key)))
  expect(Math.min(...left)).toBeGreaterThan(0)
  end(1)
  await held
})
