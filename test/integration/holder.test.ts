import { afterAll, beforeEach, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { reuseProcesses, startFleet, tally, type FleetShape, type Member } from '../support/fleet.ts'
import { startRedis } from '../support/servers.ts'

reuseProcesses()
const server = await startRedis()
const redis = { options: server.address }

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

test('a holder that is killed while nobody waits is replaced by whoever asks next (rule 10)', async () => {
  await using fleet = await startFleet({ redis })
  const [holder, other] = fleet.members
  await holder?.ask('key')
  await (await fleet.load(0)).process.kill()
  const askedAt = Date.now()
  const answers = await other?.ask('key', { loader: { ms: 0 } })
  expect(tally((await answers?.answers) ?? [])).toEqual([{ told: 'key by load 0 of process 1', callers: 1 }])
  expect((fleet.loads[1]?.startedAt ?? Number.NaN) - askedAt).toBeLessThan(3_000)
})

test('two holders killed one after the other cost one load more each (rule 10)', async () => {
  await using fleet = await startFleet({ processes: 4, redis })
  const crowds = await Promise.all(fleet.members.map((member) => member.ask('key')))
  await fleet.waits(3)
  const first = await fleet.load(0)
  await first.process.kill()
  const second = await fleet.load(1)
  await until('the other two are enlisted with the second', async () => {
    const fields = await server.client.hkeys('{herdless:key}:lease')
    return fields.filter((field) => field.startsWith('>')).length === 2
  })
  await second.process.kill()
  const third = await fleet.load(2)
  await third.finish()
  for (const { number, process } of fleet.members) {
    if (process === first.process || process === second.process) continue
    expect(tally((await crowds[number]?.answers) ?? [])).toEqual([{ told: third.value, callers: 1 }])
  }
  expect(fleet.loads).toHaveLength(3)
})

test('where waiters only ask again, the end of the lease decides who replaces a killed holder (rule 10)', async () => {
  const shape = { store: { wakeUp: 'poll' }, cache: { leaseTtl: 1_500 } } as const
  await using fleet = await startFleet({ processes: 3, redis, ...shape })
  const crowds = await Promise.all(fleet.members.map((member) => member.ask('key', { callers: 5 })))
  await fleet.waits(2)
  const first = await fleet.load(0)
  await first.process.kill()
  const killedAt = Date.now()
  const second = await fleet.load(1)
  await second.finish()
  for (const { number } of fleet.members.filter(({ process }) => process !== first.process)) {
    expect(tally((await crowds[number]?.answers) ?? [])).toEqual([{ told: second.value, callers: 5 }])
  }
  expect(fleet.loads).toHaveLength(2)
  // At the kill, up to a third of the lease had gone by since it was renewed.
  expect(second.startedAt - killedAt).toBeGreaterThan(700)
})

test('an event loop that is blocked for longer than the deadline of commands is not a store that is away', async () => {
  const cache: FleetShape['cache'] = { onStoreFailure: 'throw', commandTimeout: 500 }
  await using fleet = await startFleet({ processes: 1, redis, cache })
  const [member] = fleet.members as [Member]
  await member.get('warm')
  // They ask, and before the replies can be read the loop stands still; when it goes on, the replies have long been there.
  const asking = [member.get('cold'), member.get('warm')]
  await member.process.block(1_500)
  expect(tally(await Promise.all(asking))).toEqual([
    { told: 'cold by load 1 of process 0', callers: 1 },
    { told: 'warm by load 0 of process 0', callers: 1 },
  ])
  expect((await member.events()).degraded).toBe(0)
})
