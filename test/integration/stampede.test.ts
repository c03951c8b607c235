import { afterAll, beforeEach, expect, test } from 'vitest'
import { patient, reuseProcesses, startFleet, tally } from '../support/fleet.ts'
import { withoutCare } from '../support/command-counts.ts'
import { startRedis } from '../support/servers.ts'
import { until } from '../../tools/until.mjs'

reuseProcesses()
const server = await startRedis()
const shape = { processes: 4, redis: { options: server.address }, cache: patient }

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

test('1000 callers in 4 processes make one load, and those of a later moment none', async () => {
  await using fleet = await startFleet(shape)
  const crowd = await fleet.ask('key', { callers: 250 })
  await fleet.waits(3)
  const load = await fleet.load(0)
  await load.finish()
  expect(tally(await crowd.answers)).toEqual([{ told: load.value, callers: 1_000 }])
  await server.resetCounts()
  const later = await fleet.ask('key', { callers: 50, loader: { ms: 0 } })
  expect(tally(await later.answers)).toEqual([{ told: load.value, callers: 200 }])
  expect(withoutCare(await server.commandCounts()), 'one read of each process').toEqual({ get: 4 })
  expect(fleet.loads).toHaveLength(1)
})

test('a stampede costs each process one read, and no more than two commands besides', async () => {
  await using fleet = await startFleet(shape)
  // On a busy machine whoever waits for long asks again: it need be so in some round.
  let round = 0
  await until(
    'a stampede costs no more',
    async () => {
      const key = `key ${round++}`
      await server.resetCounts()
      const { answers } = await fleet.ask(key, { callers: 250, loader: { ms: 200 } })
      expect(tally(await answers)).toEqual([{ told: fleet.loadsOf(key)[0]?.value, callers: 1_000 }])
      const { get, evalsha = 0, ...others } = withoutCare(await server.commandCounts())
      expect({ get, others }).toEqual({ get: 4, others: {} })
      return evalsha <= 2 * 4
    },
    60_000,
  )
})

const error = { name: 'QueryError', message: 'the source is on fire', code: 'E_FIRE' }

test('a failed load is one load, and its error is told to every caller in every process (rule 5)', async () => {
  // Failures are not remembered, so that nothing but the load itself can tell those who wait.
  await using fleet = await startFleet({ ...shape, cache: { ...patient, failureCooldown: 0 } })
  const { answers } = await fleet.ask('key', { callers: 50 })
  await fleet.waits(3)
  await (await fleet.load(0)).fail(error)
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

test('a value too large for a message reaches all who wait for it', async () => {
  await using fleet = await startFleet(shape)
  const { answers } = await fleet.ask('key', { callers: 25, loader: { length: 100_000 } })
  await fleet.waits(3)
  const load = await fleet.load(0)
  await load.finish()
  expect(tally(await answers)).toEqual([{ told: load.value, callers: 100 }])
  expect(load.value).toHaveLength(100_000)
  expect(fleet.loads).toHaveLength(1)
})

test('many keys at once are loaded once each', async () => {
  await using fleet = await startFleet(shape)
  const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`)
  const crowds = await Promise.all(keys.map((key) => fleet.ask(key, { callers: 3, loader: { ms: 100 } })))
  for (const [index, { answers }] of crowds.entries()) {
    const told = tally(await answers)
    const loads = fleet.loadsOf(keys[index] as string)
    expect(loads).toHaveLength(1)
    expect(told).toEqual([{ told: loads[0]?.value, callers: 12 }])
  }
})
