import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { startFleet, tally, type Fleet, type Member } from '../support/fleet.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'

const valueKey = (key: string): string => `{herdless:${key}}`
const leaseKey = (key: string): string => `{herdless:${key}}:lease`

/** A value of ours, as it stands in Redis, to be spoilt. */
async function sample(server: RedisServer, member: Member): Promise<Buffer> {
  await member.get('sample')
  return (await server.client.getBuffer(valueKey('sample'))) as Buffer
}

/**
 * Asks for keys that nobody has loaded yet, twice in every process: once each is to be loaded, whatever stands at it,
 * and then to be served. Returns those for which it was otherwise, with what the callers were told.
 */
async function notLoadedOnce(fleet: Fleet, keys: readonly string[]): Promise<Record<string, unknown>> {
  const options = { waitTimeout: 8_000 }
  const wrong: Record<string, unknown> = {}
  const check = async (key: string): Promise<void> => {
    const cold = await fleet.ask(key, { callers: 3, loader: { ms: 50 }, options })
    const told = tally(await cold.answers)
    const warm = await fleet.ask(key, { callers: 3, loader: { ms: 0 }, options })
    told.push(...tally(await warm.answers))
    const loads = fleet.loadsOf(key)
    if (loads.length !== 1 || told.some((answer) => answer.told !== loads[0]?.value)) {
      wrong[key] = { told, loads: loads.length }
    }
  }
  await Promise.all(keys.map(check))
  return wrong
}

describe('what is not ours', () => {
  test('of another type at the key of a value is overwritten', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address } })
    const { client } = server
    await client.rpush(valueKey('list'), 'a', 'b')
    await client.hset(valueKey('hash'), 'state', 'held')
    await client.sadd(valueKey('set'), 'a')
    await client.zadd(valueKey('sorted set'), 1, 'a')
    await client.xadd(valueKey('stream'), '*', 'a', 'b')
    expect(await notLoadedOnce(fleet, ['list', 'hash', 'set', 'sorted set', 'stream'])).toEqual({})
    expect(await fleet.heard('degraded')).toBe(0)
  })

  test('of another type at the key of a lease is overwritten', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address } })
    const { client } = server
    await client.set(leaseKey('string'), 'locked by somebody')
    await client.rpush(leaseKey('list'), 'a', 'b')
    await client.sadd(leaseKey('set'), 'a')
    await client.hset(leaseKey('hash'), 'owner', 'somebody')
    expect(await notLoadedOnce(fleet, ['string', 'list', 'set', 'hash'])).toEqual({})
  })

  test('and appears at the keys of a load under way does no harm', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address }, cache: { leaseTtl: 1_000 } })
    const { answers } = await fleet.ask('key', { callers: 3, loader: { ms: 2_000 } })
    await fleet.waits(1)
    await server.client.set(leaseKey('key'), 'somebody')
    await server.client.rpush(valueKey('key'), 'a')
    const told = await answers
    expect(told.filter(({ error }) => error !== undefined)).toEqual([])
    expect(fleet.loads.some(({ aborted }) => aborted?.code === 'LEASE_LOST')).toBe(true)
    expect(await notLoadedOnce(fleet, ['another key'])).toEqual({})
  })

  test('can be deleted and set over', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ processes: 1, redis: { options: server.address } })
    const [member] = fleet.members as [Member]
    for (const foreign of [valueKey('key'), leaseKey('key')]) {
      await server.client.rpush(foreign, 'a')
      await member.set('key', 'mine')
      expect(await member.peek('key')).toMatchObject({ value: 'mine' })
      await server.client.del(foreign)
      await server.client.rpush(foreign, 'a')
      await member.invalidate('key')
      expect(await server.client.exists(valueKey('key'), leaseKey('key'))).toBe(0)
    }
  })
})

describe('garbage', () => {
  test('that does not look like a value is loaded over', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address } })
    const good = await sample(server, fleet.members[0] as Member)
    const bytes: Record<string, Buffer> = {
      empty: Buffer.alloc(0),
      text: Buffer.from('{"json":true}'),
      'a header cut short': good.subarray(0, 47),
      'a format yet to come': Buffer.concat([Buffer.of(178), good.subarray(1)]),
      zeros: Buffer.alloc(100),
    }
    for (const [key, garbage] of Object.entries(bytes)) await server.client.set(valueKey(key), garbage)
    expect(await notLoadedOnce(fleet, Object.keys(bytes))).toEqual({})
  })

  test('behind a good header is loaded over', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address } })
    const good = await sample(server, fleet.members[0] as Member)
    const bytes: Record<string, Buffer> = {
      'a header alone': good.subarray(0, 48),
      'a payload cut short': good.subarray(0, -1),
      'a payload of a codec yet to come': Buffer.concat([good.subarray(0, 48), Buffer.of(8), good.subarray(48)]),
      'a payload of noise': Buffer.concat([good.subarray(0, 48), Buffer.from('ff00fe', 'hex')]),
    }
    for (const [key, garbage] of Object.entries(bytes)) await server.client.set(valueKey(key), garbage)
    expect(await notLoadedOnce(fleet, Object.keys(bytes))).toEqual({})
    expect(await fleet.heard('garbage')).toBeGreaterThanOrEqual(4)
  })

  test.for([
    ['whose token is no text', (bytes: Buffer) => bytes.fill(0xff, 2, 18)],
    ['whose token has a zero byte', (bytes: Buffer) => bytes.fill(0, 2, 18)],
    ['whose version is not a number', (bytes: Buffer) => bytes.fill(0xff, 36, 44)],
    ['whose version is infinite', (bytes: Buffer) => bytes.writeDoubleBE(Infinity, 36) && bytes],
    ['whose version is negative', (bytes: Buffer) => bytes.writeDoubleBE(-1e300, 36) && bytes],
    ['whose version is huge', (bytes: Buffer) => bytes.writeDoubleBE(1e300, 36) && bytes],
    ['that is fresh for ever', (bytes: Buffer) => bytes.fill(0xff, 18, 36)],
    ['of ones only', (bytes: Buffer) => bytes.fill(0xff, 1, 48)],
  ] as const)('with a header %s is loaded over', async ([, spoil]) => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address } })
    const good = await sample(server, fleet.members[0] as Member)
    const header = Buffer.from(good.subarray(0, 48))
    spoil(header)
    await server.client.set(valueKey('key'), Buffer.concat([header, Buffer.from('no json')]))
    expect(await notLoadedOnce(fleet, ['key'])).toEqual({})
    expect(await fleet.heard('degraded')).toBe(0)
  })

  test('at random behind the first byte is loaded over', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address } })
    const bytes: Record<string, Buffer> = {}
    for (let length = 40; length < 120; length += 2) {
      const garbage = randomBytes(length)
      garbage[0] = 177
      // The key shows what it was, should it be named below.
      const key = garbage.toString('hex')
      bytes[key] = garbage
      await server.client.set(valueKey(key), garbage)
    }
    expect(await notLoadedOnce(fleet, Object.keys(bytes))).toEqual({})
  })
})

test('scripts that were flushed are sent again', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ redis: { options: server.address } })
  await server.client.script('FLUSH')
  const { answers } = await fleet.ask('key', { callers: 5 })
  await fleet.waits(1)
  const load = await fleet.load(0)
  await server.client.script('FLUSH')
  await load.finish()
  expect(tally(await answers)).toEqual([{ told: load.value, callers: 10 }])
  await server.client.script('FLUSH')
  await fleet.members[0]?.invalidate('key')
  expect((await fleet.members[1]?.peek('key'))?.state).toBe('missing')
  expect(fleet.loads).toHaveLength(1)
})

describe('a Redis that is out of memory', () => {
  test('from the start leaves every caller answered, by one load per process (rule 12)', async () => {
    await using server = await startRedis({ args: ['--maxmemory-policy', 'noeviction'] })
    await using fleet = await startFleet({ redis: { options: server.address } })
    await server.client.config('SET', 'maxmemory', '1')
    const { answers } = await fleet.ask('key', { callers: 20, loader: { ms: 100 } })
    const told = await answers
    expect(told.filter(({ error }) => error !== undefined)).toEqual([])
    expect(fleet.loads).toHaveLength(2)
    await server.client.config('SET', 'maxmemory', '0')
    expect(await notLoadedOnce(fleet, ['another key'])).toEqual({})
  })

  test('in the midst of a load leaves every caller answered, and the key free', async () => {
    await using server = await startRedis({ args: ['--maxmemory-policy', 'noeviction'] })
    await using fleet = await startFleet({ redis: { options: server.address } })
    const [holder, waiter] = fleet.members as [Member, Member]
    const ofHolder = await holder.ask('key', { callers: 5 })
    const load = await fleet.load(0)
    const ofWaiter = await waiter.ask('key', { callers: 5, loader: { ms: 50 } })
    await fleet.waits(1)
    await server.client.config('SET', 'maxmemory', '1')
    await load.finish()
    expect(tally(await ofHolder.answers)).toEqual([{ told: load.value, callers: 5 }])
    expect(tally(await ofWaiter.answers).map(({ callers }) => callers)).toEqual([5])
    await until('the lease is given up', async () => (await server.client.exists(leaseKey('key'))) === 0)
    await server.client.config('SET', 'maxmemory', '0')
    expect(await notLoadedOnce(fleet, ['another key'])).toEqual({})
  })

  test('lets go of values and leases it is told to let go', async () => {
    await using server = await startRedis({ args: ['--maxmemory-policy', 'noeviction'] })
    await using fleet = await startFleet({ redis: { options: server.address } })
    const [holder, other] = fleet.members as [Member, Member]
    await holder.get('key')
    await holder.ask('another key')
    const load = await fleet.load(1)
    await server.client.config('SET', 'maxmemory', '1')
    await other.invalidate('key')
    await other.invalidate('another key')
    await until('the loader is told', () => load.aborted)
    expect(await server.client.exists(valueKey('key'), leaseKey('another key'))).toBe(0)
  })
})

describe('an evicted', () => {
  test('value is loaded again, once', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address } })
    await fleet.members[0]?.get('key')
    await server.client.del(valueKey('key'))
    const { answers } = await fleet.ask('key', { callers: 5 })
    await fleet.waits(1)
    const load = await fleet.load(1)
    await load.finish()
    expect(tally(await answers)).toEqual([{ told: load.value, callers: 10 }])
    expect(fleet.loads).toHaveLength(2)
  })

  test('lease is told to its holder, whose fill is refused (rules 2 and 3)', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address }, cache: { leaseTtl: 1_000 } })
    const [holder, other] = fleet.members as [Member, Member]
    const ofHolder = await holder.ask('key', { callers: 5 })
    const first = await fleet.load(0)
    await server.client.del(leaseKey('key'))
    const ofOther = await other.ask('key', { callers: 5 })
    const second = await fleet.load(1)
    await until('the first loader is told', () => first.aborted)
    expect(first.aborted?.code).toBe('LEASE_LOST')
    await first.finish()
    await second.finish()
    for (const { answers } of [ofHolder, ofOther]) {
      expect(tally(await answers)).toEqual([{ told: second.value, callers: 5 }])
    }
    expect(await other.peek('key')).toMatchObject({ value: second.value })
    expect(fleet.loads).toHaveLength(2)
  })
})

test('nothing stays in Redis without an expiry', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ redis: { options: server.address } })
  await fleet.members[0]?.get('filled')
  await fleet.members[0]?.set('set', 'value')
  await fleet.members[0]?.get('failed', { ms: 0, error: { name: 'Error', message: 'x' } })
  await fleet.members[0]?.get('passed', { ms: 0, doNotStore: true })
  await fleet.members[0]?.ask('held')
  await fleet.load(3)
  const keys = await server.client.keys('*')
  const expected = [
    leaseKey('failed'),
    leaseKey('held'),
    leaseKey('passed'),
    valueKey('filled'),
    valueKey('set'),
    '{herdless:}',
  ]
  expect(keys.toSorted()).toEqual(expected.toSorted())
  const left = await Promise.all(keys.map((key) => server.client.pttl(key)))
  expect(Math.min(...left)).toBeGreaterThan(0)
})
