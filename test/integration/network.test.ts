import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { reuseProcesses, startFleet, tally, type FleetShape, type Member } from '../support/fleet.ts'
import { startProxy, type Proxy } from '../support/proxy.ts'
import { startRedis } from '../support/servers.ts'

reuseProcesses()
const server = await startRedis()
const redis = { options: server.address }

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

/** Member 0 reaches Redis through a proxy, on both connections or on the one for commands alone; the others directly. */
function firstVia(proxy: Proxy, connections: 'both' | 'commands'): NonNullable<FleetShape['each']> {
  const options = { host: proxy.host, port: proxy.port }
  const direct = connections === 'commands' ? { subscriber: server.address } : {}
  return (number) => (number === 0 ? { redis: { options, ...direct } } : {})
}

describe('a fill that is delivered late', () => {
  test('does not lengthen the life of the value (rule 2)', async () => {
    await using proxy = await startProxy(server)
    const each = firstVia(proxy, 'both')
    await using fleet = await startFleet({ redis, each, cache: { ttl: 1_500 } })
    const [holder, other] = fleet.members as [Member, Member]
    const { answers } = await holder.ask('key', { callers: 3 })
    const load = await fleet.load(0)
    const sent = proxy.stopAt(load.value)
    await load.finish()
    await sent
    const sentAt = Date.now()
    // Nobody but its own callers, who asked before it began, hears of a value whose fill may or may not be accepted.
    expect(tally(await answers)).toEqual([{ told: load.value, callers: 3 }])
    await until('its ttl is over', () => Date.now() - sentAt > 2_000)
    proxy.heal()
    await until('it has arrived', async () => (await server.client.exists('{herdless:key}')) === 1)
    expect((await other.peek('key')).state).toBe('missing')
    expect(tally([await other.get('key')])).toEqual([{ told: 'key by load 0 of process 1', callers: 1 }])
  })
})

describe('a set that arrives after its sender gave up', () => {
  test('does not overwrite what others have set since, however often it is sent (rule 4)', async () => {
    await using proxy = await startProxy(server)
    const cache = { commandTimeout: 300 }
    await using fleet = await startFleet({
      redis,
      each: firstVia(proxy, 'commands'),
      cache,
    })
    const [far, near] = fleet.members as [Member, Member]
    await far.set('key', 'first')
    proxy.blackHole('requests')
    await expect(far.set('key', 'given up')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await near.set('key', 'newer')
    proxy.heal()
    await until('it has arrived', async () => (await near.peek('key')).state === 'missing')
    // All that `far` has sent comes before this.
    await until('it is answered', () => far.peek('key').catch(() => false))
    expect(await near.peek('key')).toEqual({ state: 'missing' })
  })
})

describe('while the answer to a claim is on its way', () => {
  test('a caller who joins after an invalidation is not given the value in it (rule 4)', async () => {
    await using proxy = await startProxy(server)
    const each = firstVia(proxy, 'commands')
    const cache = { commandTimeout: 5_000 }
    await using fleet = await startFleet({ processes: 2, redis, each, cache })
    const [far, near] = fleet.members as [Member, Member]
    const asked = proxy.stopAt('evalsha')
    const early = await far.ask('key', { loader: { ms: 0 } })
    await asked
    // The claim stands before Redis; meanwhile the key is loaded elsewhere, so that it will find a value.
    const { value: old } = await near.get('key')
    await server.resetCounts()
    proxy.heal('requests')
    await until('the claim has run', async () => (await server.commandCounts())['evalsha'] === 1)
    await near.invalidate('key')
    const late = await far.ask('key', { loader: { ms: 0 } })
    proxy.heal()
    expect(tally(await early.answers).map(({ callers }) => callers)).toEqual([1])
    expect((await late.answers)[0]?.error).toBeUndefined()
    expect((await late.answers)[0]?.value).not.toBe(old)
  })

  test('its lease is voided by an invalidation, and nobody is answered by its load (rules 2 and 4)', async () => {
    await using proxy = await startProxy(server)
    const each = firstVia(proxy, 'commands')
    const cache = { commandTimeout: 5_000 }
    await using fleet = await startFleet({ processes: 2, redis, each, cache })
    const [far, near] = fleet.members as [Member, Member]
    const asked = proxy.stopAt('evalsha')
    const early = await far.ask('key')
    await asked
    await server.resetCounts()
    proxy.heal('requests')
    await until('the lease is granted', async () => (await server.client.exists('{herdless:key}:lease')) === 1)
    await near.invalidate('key')
    const late = await far.ask('key')
    proxy.heal()
    // The message that the lease is void came before the answer that grants it.
    const first = await fleet.load(0)
    await until('the first loader is told', () => first.aborted)
    const second = await fleet.load(1)
    await first.finish()
    await second.finish()
    for (const { answers } of [early, late]) {
      expect(tally(await answers)).toEqual([{ told: second.value, callers: 1 }])
    }
    expect(await near.peek('key')).toMatchObject({ value: second.value })
  })
})

test('under latency a stampede is one load, and a hit needs one request', async () => {
  await using proxy = await startProxy(server)
  proxy.latency = 20
  proxy.jitter = 20
  const far = { options: { host: proxy.host, port: proxy.port } }
  await using fleet = await startFleet({ processes: 4, redis: far })
  const { answers } = await fleet.ask('key', { callers: 50, loader: { ms: 200 } })
  expect(tally(await answers)).toEqual([{ told: fleet.loads[0]?.value, callers: 200 }])
  expect(fleet.loads).toHaveLength(1)
  // On a busy machine the process that loads listens only when all have their answer: it waits for nobody.
  await until('all listen', async () => (await server.client.pubsub('CHANNELS')).length === 4)
  // Processes that joined late may still claim when the answers are there.
  await until('a hit needs one request', async () => {
    await server.resetCounts()
    await fleet.members[0]?.get('key')
    // The inbox subscribes again once a second.
    const { time: _time, subscribe: _heartbeat, ...counts } = await server.commandCounts()
    expect(counts).toEqual({ get: 1 })
    return true
  })
})

test('under latency, after a pause, a stampede costs at most 3 requests per process', async () => {
  await using proxy = await startProxy(server)
  proxy.latency = 20
  const far = { options: { host: proxy.host, port: proxy.port } }
  await using fleet = await startFleet({ processes: 4, redis: far })
  const openedAt = Date.now()
  // What a process knew of the time of Redis is old by then; the claim brings it again, and a miss has no use for it.
  await until('a pause', () => Date.now() - openedAt > 1_000)
  await server.resetCounts()
  const { answers } = await fleet.ask('key', { callers: 50, loader: { ms: 100 } })
  expect(tally(await answers).map(({ callers }) => callers)).toEqual([200])
  const counts = await server.commandCounts()
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(3 * 4)
})
