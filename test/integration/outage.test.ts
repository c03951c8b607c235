import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { mostAtOnce, startFleet, tally, type Answer, type Fleet, type Member } from '../support/fleet.ts'
import { startRedis } from '../support/servers.ts'

/** Well above the deadline of commands (0.5 s) and the loader of 0.2 s, and well below the 10 s of a lease. */
const soon = 6_000

function slowest(answers: readonly Answer[]): number {
  return Math.max(...answers.map(({ startedAt, endedAt }) => endedAt - startedAt))
}

/** Everything is as it should be, without a restart: a cold key is loaded once for all processes, and then served. */
async function expectNormality(fleet: Fleet): Promise<void> {
  let round = 0
  const load = await until(
    'one load with a lease serves all processes',
    async () => {
      const key = `cold ${round++}`
      const { answers } = await fleet.ask(key, { loader: { ms: 50 } })
      await answers
      const [first, ...more] = fleet.loadsOf(key)
      return more.length === 0 && first?.fence !== null && first
    },
    15_000,
  )
  const { answers } = await fleet.ask(load.key, { callers: 5, loader: { ms: 0 } })
  expect(tally(await answers)).toEqual([{ told: load.value, callers: 5 * fleet.members.length }])
  expect(fleet.loadsOf(load.key)).toHaveLength(1)
}

describe('while Redis is frozen', () => {
  test('every caller is answered by one load per process, and when it is back all is normal (rule 12)', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ processes: 4, redis: { options: server.address } })
    await fleet.members[0]?.get('warm')
    await server.freeze()
    const before = fleet.loads.length
    const crowds = [
      await fleet.ask('cold', { callers: 20, loader: { ms: 200 } }),
      await fleet.ask('warm', { callers: 20, loader: { ms: 200 } }),
    ]
    for (const { answers } of crowds) {
      const told = await answers
      expect(slowest(told)).toBeLessThan(soon)
      expect(tally(told).map(({ callers }) => callers)).toEqual([20, 20, 20, 20])
      expect(told.filter(({ error }) => error !== undefined)).toEqual([])
    }
    expect(fleet.loads.slice(before)).toHaveLength(8)
    expect(fleet.loads.slice(before).map(({ fence }) => fence)).toEqual(Array(8).fill(null))
    server.thaw()
    await expectNormality(fleet)
  })

  test('no process runs more loads at once than it may (rule 12)', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address }, cache: { maxConcurrentLoads: 2 } })
    await server.freeze()
    const keys = Array.from({ length: 10 }, (_, index) => `key ${index}`)
    const crowds = await Promise.all(keys.map((key) => fleet.ask(key, { callers: 5, loader: { ms: 100 } })))
    for (const { answers } of crowds) expect((await answers).filter(({ error }) => error !== undefined)).toEqual([])
    for (const process of fleet.processes) {
      const loads = fleet.loads.filter((load) => load.process === process)
      expect(loads).toHaveLength(10)
      expect(mostAtOnce(loads)).toBe(2)
    }
  })

  test('the loads of one key do not pile up, however long they take (rule 12)', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ processes: 1, redis: { options: server.address } })
    const [member] = fleet.members as [Member]
    await server.freeze()
    const { answers } = await member.ask('key', { callers: 400, over: 4_000, loader: { ms: 3_000 } })
    expect((await answers).filter(({ error }) => error !== undefined)).toEqual([])
    expect(mostAtOnce(fleet.loads)).toBeLessThanOrEqual(2)
  })

  test('who would rather have an error gets STORE_UNAVAILABLE, and no load (rule 12)', async () => {
    await using server = await startRedis()
    const redis = { options: server.address }
    await using fleet = await startFleet({ redis, cache: { onStoreFailure: 'throw' } })
    await server.freeze()
    const { answers } = await fleet.ask('key', { callers: 20, loader: { ms: 200 } })
    const told = await answers
    expect(tally(told)).toEqual([{ told: 'STORE_UNAVAILABLE', callers: 40 }])
    expect(slowest(told)).toBeLessThan(soon)
    expect(fleet.loads).toEqual([])
    server.thaw()
    await until('it is no longer taken for away', async () => (await fleet.heard('recovered')) === 2)
    await expectNormality(fleet)
  })

  test('an invalidation is reported as failed, never silently lost (rule 12)', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ processes: 1, redis: { options: server.address } })
    const [member] = fleet.members as [Member]
    await member.get('key')
    await server.freeze()
    await expect(member.invalidate('key')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'key' })
    await expect(member.set('key', 'value')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'key' })
  })

  test('an invalidation that is to be kept holds here at once, and everywhere when Redis is back (rule 12)', async () => {
    await using server = await startRedis()
    const cache = { onInvalidateFailure: 'replay' } as const
    await using fleet = await startFleet({ redis: { options: server.address }, cache })
    const [here, there] = fleet.members as [Member, Member]
    const { value: old } = await here.get('key')
    await server.freeze()
    await here.invalidate('key')
    const during = await here.get('key')
    expect(during.value).not.toBe(old)
    server.thaw()
    await until('it has been carried out', async () => (await there.peek('key')).state === 'missing')
    const { value: fresh } = await there.get('key')
    expect(await here.get('key')).toMatchObject({ value: fresh })
    expect(fresh).not.toBe(old)
  })

  test('whoever finds the queue full is told OVERLOADED at once, and the source is spared (rule 12)', async () => {
    await using server = await startRedis()
    const cache = { maxConcurrentLoads: 2, maxQueuedLoads: 3 }
    await using fleet = await startFleet({ processes: 1, redis: { options: server.address }, cache })
    const [member] = fleet.members as [Member]
    await server.freeze()
    await member.get('so that it is known')
    const crowds = await Promise.all(Array.from({ length: 9 }, (_, index) => member.ask(`key ${index}`)))
    for (const number of [1, 2, 3, 4, 5]) await (await fleet.load(number)).finish()
    const told = (await Promise.all(crowds.map(({ answers }) => answers))).flat()
    expect(told.map(({ error }) => error?.code)).toEqual([...Array(5).fill(undefined), ...Array(4).fill('OVERLOADED')])
    expect(fleet.loads).toHaveLength(6)
    await expect(member.peek('key 0')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  test('a load under way answers its callers, and those who wait elsewhere are answered too (rule 12)', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address } })
    const [holder, waiter] = fleet.members as [Member, Member]
    const ofHolder = await holder.ask('key', { callers: 3 })
    const first = await fleet.load(0)
    const ofWaiter = await waiter.ask('key', { callers: 3, loader: { ms: 200 } })
    await fleet.waits(1)
    await server.freeze()
    const second = await fleet.load(1)
    await first.finish()
    expect(tally(await ofHolder.answers)).toEqual([{ told: first.value, callers: 3 }])
    expect(tally(await ofWaiter.answers)).toEqual([{ told: second.value, callers: 3 }])
    expect(fleet.loads).toHaveLength(2)
    server.thaw()
    await expectNormality(fleet)
  })
})

describe('while Redis is down', () => {
  test('every caller is answered, and when it is back, empty, all is normal (rule 12)', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ processes: 3, redis: { options: server.address } })
    const ofHolder = await fleet.members[0]?.ask('held')
    const held = await fleet.load(0)
    await server.kill()
    const { answers } = await fleet.ask('key', { callers: 20, loader: { ms: 200 } })
    const told = await answers
    expect(tally(told).map(({ callers }) => callers)).toEqual([20, 20, 20])
    expect(told.filter(({ error }) => error !== undefined)).toEqual([])
    expect(slowest(told)).toBeLessThan(soon)
    expect(fleet.loadsOf('key')).toHaveLength(3)
    await held.finish()
    expect(tally((await ofHolder?.answers) ?? [])).toEqual([{ told: held.value, callers: 1 }])
    await server.restart()
    await expectNormality(fleet)
  })

  test('a load under way when it is restarted empty is not taken for one that has its lease (rule 2)', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address }, cache: { leaseTtl: 2_000 } })
    const [holder, other] = fleet.members as [Member, Member]
    const ofHolder = await holder.ask('key', { callers: 3 })
    const first = await fleet.load(0)
    await server.restart()
    const ofOther = await other.ask('key', { callers: 3, loader: { ms: 0 } })
    await until('the first loader is told', () => first.aborted)
    expect(first.aborted?.code).toBe('LEASE_LOST')
    await first.finish()
    let answers: Answer[] | undefined
    void Promise.all([ofHolder.answers, ofOther.answers]).then((both) => (answers = both.flat()))
    await until('all are answered', async () => {
      await Promise.all(fleet.loads.map((load) => load.finish()))
      return answers
    })
    expect(tally(answers ?? []).map(({ told }) => told)).not.toContain(first.value)
    expect(await other.peek('key')).not.toMatchObject({ value: first.value })
    await expectNormality(fleet)
  })

  test.for([
    ['as it is by default', {}],
    ['that gives commands up soon', { maxRetriesPerRequest: 1 }],
    ['without an offline queue', { enableOfflineQueue: false }],
    ['that connects late', { lazyConnect: true }],
  ] as const)('from the start, callers are answered through a client %s (rule 12)', async ([, options]) => {
    await using server = await startRedis()
    await server.kill()
    const redis = { options: { ...server.address, ...options } }
    await using fleet = await startFleet({ redis, connected: false })
    for (const key of ['one', 'two']) {
      const { answers } = await fleet.ask(key, { callers: 20, loader: { ms: 200 } })
      const told = await answers
      expect(told.filter(({ error }) => error !== undefined)).toEqual([])
      expect(slowest(told)).toBeLessThan(soon)
    }
    await server.restart()
    await expectNormality(fleet)
  })
})

describe('while the memory of Redis is full', () => {
  test('an error is told to those who wait, and remembered (rule 5)', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({
      processes: 2,
      redis: { options: server.address },
      cache: { failureCooldown: '1m' },
    })
    const crowd = await fleet.ask('key', { callers: 3 })
    await fleet.waits(1)
    const load = await fleet.load(0)
    await server.exhaustMemory()
    await load.fail({ name: 'Error', message: 'away' })
    const failed = [{ told: 'LOAD_FAILED', callers: 6 }]
    expect(tally(await crowd.answers)).toEqual(failed)
    const later = await fleet.ask('key', { callers: 3 })
    expect(tally(await later.answers)).toEqual(failed)
    expect(fleet.loads).toHaveLength(1)
  })
})
