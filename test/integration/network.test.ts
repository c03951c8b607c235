import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { startFleet, tally, type FleetShape, type Member } from '../support/fleet.ts'
import { startProxy, type Proxy } from '../support/proxy.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'

/** Member 0 reaches Redis through a proxy, on both connections or on the one for commands alone; the others directly. */
function firstVia(
  proxy: Proxy,
  server: RedisServer,
  connections: 'both' | 'commands',
): NonNullable<FleetShape['each']> {
  const options = { host: proxy.host, port: proxy.port }
  const direct = connections === 'commands' ? { subscriber: server.address } : {}
  return (number) => (number === 0 ? { redis: { options, ...direct } } : {})
}

describe('a fill that is delivered late', () => {
  test('does not lengthen the life of the value (rule 2)', async () => {
    await using server = await startRedis()
    await using proxy = await startProxy(server)
    const each = firstVia(proxy, server, 'both')
    await using fleet = await startFleet({ redis: { options: server.address }, each, cache: { ttl: 1_500 } })
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

  test('after an invalidation is refused (rules 2 and 4)', async () => {
    await using server = await startRedis()
    await using proxy = await startProxy(server)
    const each = firstVia(proxy, server, 'commands')
    await using fleet = await startFleet({ processes: 3, redis: { options: server.address }, each })
    const [holder, other, third] = fleet.members as [Member, Member, Member]
    const { answers } = await holder.ask('key', { callers: 3 })
    const first = await fleet.load(0)
    const sent = proxy.stopAt(first.value)
    await first.finish()
    await sent
    await third.invalidate('key')
    const late = await holder.ask('key')
    const { value } = await other.get('key')
    expect(value).toBe('key by load 0 of process 1')
    proxy.heal()
    await until(
      'the holder has caught up',
      async () => (await holder.events()).degraded === (await holder.events()).recovered,
    )
    await Promise.all(fleet.loads.map((load) => load.finish()))
    await answers
    expect(tally(await late.answers).map(({ told }) => told)).not.toContain(first.value)
    for (const member of [holder, other, third]) expect(await member.peek('key')).toMatchObject({ value })
  })

  test('does not overwrite the value of a later load (rule 2)', async () => {
    await using server = await startRedis()
    await using proxy = await startProxy(server)
    const each = firstVia(proxy, server, 'both')
    await using fleet = await startFleet({ redis: { options: server.address }, each, cache: { leaseTtl: 1_000 } })
    const [holder, other] = fleet.members as [Member, Member]
    const { answers } = await holder.ask('key', { callers: 3 })
    const first = await fleet.load(0)
    const sent = proxy.stopAt(first.value)
    await first.finish()
    await sent
    // Its lease runs out meanwhile.
    const { value } = await other.get('key')
    expect(value).toBe('key by load 0 of process 1')
    proxy.heal()
    await answers
    await until('the holder has caught up', async () => (await holder.peek('key')).state === 'fresh')
    expect(await other.peek('key')).toMatchObject({ value })
    expect(await holder.peek('key')).toMatchObject({ value })
  })
})

describe('a set that arrives after its sender gave up', () => {
  test('does not overwrite what others have set since, however often it is sent (rule 4)', async () => {
    await using server = await startRedis()
    await using proxy = await startProxy(server)
    const cache = { commandTimeout: 300 }
    await using fleet = await startFleet({
      redis: { options: server.address },
      each: firstVia(proxy, server, 'commands'),
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
    await using server = await startRedis()
    await using proxy = await startProxy(server)
    const each = firstVia(proxy, server, 'commands')
    const cache = { commandTimeout: 5_000 }
    await using fleet = await startFleet({ processes: 2, redis: { options: server.address }, each, cache })
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
    await using server = await startRedis()
    await using proxy = await startProxy(server)
    const each = firstVia(proxy, server, 'commands')
    const cache = { commandTimeout: 5_000 }
    await using fleet = await startFleet({ processes: 2, redis: { options: server.address }, each, cache })
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

test('a process that is cut off from Redis answers its callers, and takes part again when it is back (rule 12)', async () => {
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  const each = firstVia(proxy, server, 'both')
  await using fleet = await startFleet({ processes: 3, redis: { options: server.address }, each })
  const [far, ...near] = fleet.members as [Member, Member, Member]
  proxy.blackHole()
  const alone = await far.ask('key', { callers: 5, loader: { ms: 100 } })
  const together = await fleet.ask('key', { callers: 5, loader: { ms: 100 } }, near)
  expect(tally(await alone.answers)).toEqual([{ told: 'key by load 0 of process 0', callers: 5 }])
  expect(tally(await together.answers).map(({ callers }) => callers)).toEqual([10])
  expect(fleet.loads).toHaveLength(2)
  proxy.heal()
  await until('it reads what the others have', async () => (await far.peek('key')).state === 'fresh')
  const again = await fleet.ask('another key', { callers: 5, loader: { ms: 100 } })
  expect(tally(await again.answers).map(({ callers }) => callers)).toEqual([15])
})

test('a holder that is cut off is told that it lost its lease, before another has it (rule 3)', async () => {
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  const each = firstVia(proxy, server, 'both')
  await using fleet = await startFleet({ redis: { options: server.address }, each, cache: { leaseTtl: 1_500 } })
  const [holder, other] = fleet.members as [Member, Member]
  const ofHolder = await holder.ask('key', { callers: 3 })
  const first = await fleet.load(0)
  proxy.blackHole()
  const ofOther = await other.ask('key', { callers: 3 })
  const second = await fleet.load(1)
  expect(first.aborted?.code).toBe('LEASE_LOST')
  // The clocks of two processes may be a little apart.
  expect(first.aborted?.at).toBeLessThan(second.startedAt + 5)
  await second.finish()
  expect(tally(await ofOther.answers)).toEqual([{ told: second.value, callers: 3 }])
  await first.finish()
  await Promise.all(fleet.loads.map((load) => load.finish()))
  expect((await ofHolder.answers).filter(({ error }) => error !== undefined)).toEqual([])
  proxy.heal()
  await until('the holder sees the value of the other', async () => (await holder.peek('key')).state === 'fresh')
  expect(await holder.peek('key')).toMatchObject({ value: second.value })
})

test('connections that are cut again and again cost nobody the answer', async () => {
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  const redis = { options: { host: proxy.host, port: proxy.port } }
  await using fleet = await startFleet({ processes: 3, redis, cache: { ttl: 50 } })
  const asking = fleet.ask('key', { callers: 300, over: 3_000, loader: { ms: 20 } })
  let answers: Awaited<Awaited<typeof asking>['answers']> | undefined
  void asking.then(async (crowd) => (answers = await crowd.answers))
  await until(
    'all are answered',
    async () => {
      const loads = fleet.loads.length
      proxy.cut()
      await until('it goes on', () => answers ?? fleet.loads.length > loads)
      return answers
    },
    20_000,
  )
  expect(answers).toHaveLength(900)
  expect(answers?.filter(({ error }) => error !== undefined)).toEqual([])
})

test('under latency a stampede is one load, and a hit needs one request', async () => {
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  proxy.latency = 20
  proxy.jitter = 20
  const redis = { options: { host: proxy.host, port: proxy.port } }
  await using fleet = await startFleet({ processes: 4, redis })
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
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  proxy.latency = 20
  const redis = { options: { host: proxy.host, port: proxy.port } }
  await using fleet = await startFleet({ processes: 4, redis })
  const openedAt = Date.now()
  // What a process knew of the time of Redis is old by then; the claim brings it again, and a miss has no use for it.
  await until('a pause', () => Date.now() - openedAt > 1_000)
  await server.resetCounts()
  const { answers } = await fleet.ask('key', { callers: 50, loader: { ms: 100 } })
  expect(tally(await answers).map(({ callers }) => callers)).toEqual([200])
  const counts = await server.commandCounts()
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(3 * 4)
})
