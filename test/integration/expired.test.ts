import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createCache } from '../../src/index.ts'
import { fill } from '../../src/redis/scripts.ts'
import { redisStore } from '../../src/redis/index.ts'
import { reuseProcesses, startFleet, tally } from '../support/fleet.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis } from '../support/servers.ts'

const ttl = 200

reuseProcesses()

/** A process whose fill of `k` is held back on its way to Redis, and others in two processes that are connected well. */
async function heldBack() {
  const server = await startRedis()
  const proxy = await startProxy(server)
  const clients = { slow: server.connect({ host: proxy.host, port: proxy.port }), one: server.connect() }
  const slow = createCache({ store: redisStore(clients.slow), ttl })
  const one = createCache({ store: redisStore(clients.one), ttl })
  await Promise.all([slow.getOrLoad('warm', () => 1), one.getOrLoad('warm', () => 1)])
  const held = proxy.stopAt(fill.sha1)
  const first = slow.getOrLoad('k', () => 'old')
  await held
  return {
    slow,
    one,
    first,
    letGo: () => proxy.heal(),
    async [Symbol.asyncDispose]() {
      proxy.heal()
      await Promise.all([slow.close(), one.close()])
      await proxy.stop()
      await server.stop()
    },
  }
}

describe('a value whose fill arrives after its ttl', () => {
  test('is not given to a caller that asked when it had expired', async () => {
    await using all = await heldBack()
    await pause(2 * ttl)
    const asked = all.one.getOrLoad('k', () => 'new')
    await until('it waits', async () => (await all.one.explain('k')).load?.waiting === 1)
    all.letGo()
    expect(await asked).toBe('new')
    expect(await all.first).toBe('old')
  })

  test('is not given to a caller that joined a wait when it had expired', async () => {
    await using all = await heldBack()
    const waits = all.one.getOrLoad('k', () => 'new')
    await until('it waits', async () => (await all.one.explain('k')).load?.waiting === 1)
    await pause(2 * ttl)
    const joined = all.one.getOrLoad('k', () => 'new')
    await pause(0)
    all.letGo()
    expect(await Promise.all([waits, joined])).toEqual(['old', 'new'])
  })

  test('is what a caller waited for that asked while the load ran', async () => {
    await using all = await heldBack()
    const waits = all.one.getOrLoad('k', () => 'new')
    await until('it waits', async () => (await all.one.explain('k')).load?.waiting === 1)
    await pause(2 * ttl)
    all.letGo()
    expect(await waits).toBe('old')
  })
})

test.for([
  ['in the message', 10],
  ['read after it', 10_000],
] as const)('20 caches share a value %s that expires before it arrives (rule 6)', async ([, length]) => {
  await using server = await startRedis()
  const redis = { options: server.address }
  await using fleet = await startFleet({ processes: 5, cachesEach: 4, redis, cache: { ttl: 1 } })
  for (const wave of [0, 1, 2]) {
    const { answers } = await fleet.ask('key', { callers: 5, loader: { length } })
    await fleet.waits(19 * (wave + 1))
    // A process knows the clock of the server no better than its round trips are short, and takes the late bound.
    await pause(300)
    const load = await fleet.load(wave)
    await load.finish()
    expect(tally(await answers)).toEqual([{ told: load.value, callers: 100 }])
    expect(fleet.loads).toHaveLength(wave + 1)
  }
})
