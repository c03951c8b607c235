import { expect, test } from 'vitest'
import { mostAtOnce, startFleet, tally } from '../support/fleet.ts'
import { withoutCare } from '../support/command-counts.ts'
import { startRedis } from '../support/servers.ts'
import { until } from '../../tools/until.mjs'

test('1000 callers in 4 processes make one load and at most 3 requests per process', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ processes: 4, redis: { options: server.address } })
  await server.resetCounts()
  const crowd = await fleet.ask('key', { callers: 250, loader: { ms: 200 } })
  const answers = await crowd.answers
  const { get = 0, evalsha = 0, ...others } = withoutCare(await server.commandCounts())
  expect(fleet.loads).toHaveLength(1)
  expect(tally(answers)).toEqual([{ told: fleet.loads[0]?.value, callers: 1_000 }])
  expect(others).toEqual({})
  expect(get).toBe(4)
  expect(get + evalsha).toBeLessThanOrEqual(3 * 4)
})

test('callers of a later moment in every process are served the value without a load or a script', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ processes: 4, redis: { options: server.address } })
  const [first] = fleet
  await first?.get('key')
  await server.resetCounts()
  const { answers } = await fleet.ask('key', { callers: 50, loader: { ms: 0 } })
  expect(tally(await answers)).toEqual([{ told: fleet.loads[0]?.value, callers: 200 }])
  expect(fleet.loads).toHaveLength(1)
  expect(withoutCare(await server.commandCounts())).toEqual({ get: 4 })
})

test('a load of three times its lease is one load, and nobody is told of an error', async () => {
  await using server = await startRedis()
  const cache = { leaseTtl: 1_000 }
  await using fleet = await startFleet({ processes: 4, redis: { options: server.address }, cache })
  const { answers } = await fleet.ask('key', { callers: 250, loader: { ms: 3_000 } })
  expect(tally(await answers)).toEqual([{ told: fleet.loads[0]?.value, callers: 1_000 }])
  expect(fleet.loads).toHaveLength(1)
  expect(fleet.loads[0]?.aborted).toBeUndefined()
})

test('a value too large for a message reaches all who wait for it', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ processes: 4, redis: { options: server.address } })
  const { answers } = await fleet.ask('key', { callers: 25, loader: { length: 100_000 } })
  await fleet.waits(3)
  const load = await fleet.load(0)
  await load.finish()
  expect(tally(await answers)).toEqual([{ told: load.value, callers: 100 }])
  expect(load.value).toHaveLength(100_000)
  expect(fleet.loads).toHaveLength(1)
})

test('a failed load is one load, and its error is told to every caller in every process (rule 5)', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ processes: 4, redis: { options: server.address } })
  const error = { name: 'QueryError', message: 'the source is on fire', code: 'E_FIRE' }
  const { answers } = await fleet.ask('key', { callers: 50, loader: { ms: 200, error } })
  const told = await answers
  expect(fleet.loads).toHaveLength(1)
  expect(tally(told)).toEqual([{ told: 'LOAD_FAILED', callers: 200 }])
  for (const { error: complaint } of told) {
    expect(complaint?.message).toContain('the source is on fire')
    expect(complaint).toMatchObject({ name: 'QueryError', key: 'key', cause: error })
  }
  // The loader's own object stays in its process; a stack does not travel.
  expect(told.filter(({ error: complaint }) => complaint?.own)).toHaveLength(50)
})

test('a failed load is one load for all who wait, even where failures are not remembered (rule 5)', async () => {
  await using server = await startRedis()
  const cache = { failureCooldown: 0 }
  await using fleet = await startFleet({ processes: 4, redis: { options: server.address }, cache })
  const { answers } = await fleet.ask('key', { callers: 5 })
  await fleet.waits(3)
  const load = await fleet.load(0)
  await load.fail({ name: 'Error', message: 'the source is on fire' })
  expect(tally(await answers)).toEqual([{ told: 'LOAD_FAILED', callers: 20 }])
  expect(fleet.loads).toHaveLength(1)
})

test('of a very long error message, a bounded part travels to other processes (rule 5)', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ redis: { options: server.address } })
  const [one, other] = fleet.members
  const first = await one?.ask('key')
  const load = await fleet.load(0)
  const second = await other?.ask('key')
  await fleet.waits(1)
  await load.fail({ name: 'Error', message: 'x'.repeat(5_000) })
  expect((await first?.answers)?.[0]?.error?.code).toBe('LOAD_FAILED')
  const [told] = (await second?.answers) ?? []
  expect(told?.error?.code).toBe('LOAD_FAILED')
  expect(told?.error?.message.length, 'what travels is bounded').toBeLessThan(1_100)
})

test('under 400 callers a second, loads of three leases follow each other and nobody fails', async () => {
  await using server = await startRedis()
  const cache = { leaseTtl: 1_000, ttl: 100 }
  await using fleet = await startFleet({ processes: 4, redis: { options: server.address }, cache })
  const { answers } = await fleet.ask('key', { callers: 400, over: 4_000, loader: { ms: 3_000 } })
  const told = await answers
  expect(told).toHaveLength(1_600)
  expect(told.filter(({ error }) => error !== undefined)).toEqual([])
  expect(mostAtOnce(fleet.loads)).toBe(1)
  expect(fleet.loads.length).toBeLessThanOrEqual(3)
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
    const waiting = performance.now()
    await until('the callers have waited for longer than a busy round trip', () => performance.now() - waiting > 300)
    const load = await fleet.load(wave)
    await load.finish()
    expect(tally(await answers)).toEqual([{ told: load.value, callers: 100 }])
    expect(fleet.loads).toHaveLength(wave + 1)
  }
})

test('many keys at once are loaded once each', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ processes: 4, redis: { options: server.address } })
  const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`)
  const crowds = await Promise.all(keys.map((key) => fleet.ask(key, { callers: 3, loader: { ms: 100 } })))
  for (const [index, { answers }] of crowds.entries()) {
    const told = tally(await answers)
    const loads = fleet.loadsOf(keys[index] as string)
    expect(loads).toHaveLength(1)
    expect(told).toEqual([{ told: loads[0]?.value, callers: 12 }])
  }
})
