import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { reuseProcesses, startFleet, tally, type Answer, type Fleet, type Member } from '../support/fleet.ts'
import { builtPackage } from '../support/fleet-build.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis } from '../support/servers.ts'

reuseProcesses()

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
})

test('herdless watch that waits for a frozen Redis ends at once when it is interrupted', async () => {
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  const url = `redis://${proxy.host}:${proxy.port}`
  const child = spawn(process.execPath, [
    join(await builtPackage(), 'cli/main.js'),
    'watch',
    url,
    '--interval',
    '100ms',
  ])
  const ended = once(child, 'close')
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  await proxy.stopAt('scan')
  const interruptedAt = performance.now()
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  // It would wait for five seconds.
  expect(performance.now() - interruptedAt).toBeLessThan(3_000)
})

describe('while Redis is down', () => {
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

  test('values and leases are let go that are told to be let go', async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ redis: { options: server.address } })
    const [holder, other] = fleet.members as [Member, Member]
    await holder.get('key')
    await holder.ask('another key')
    const load = await fleet.load(1)
    await server.exhaustMemory()
    await other.invalidate('key')
    await other.invalidate('another key')
    await until('the loader is told', () => load.aborted)
    expect(await server.client.exists('{herdless:key}', '{herdless:another key}:lease')).toBe(0)
  })
})
