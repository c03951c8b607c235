import { expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { startFleet, tally, type Fleet, type FleetShape, type Load, type Member } from '../support/fleet.ts'
import { startCluster, startRedis } from '../support/servers.ts'

/** The members that are in another process than a load. */
function othersThan(load: Load, fleet: Fleet): Member[] {
  return fleet.members.filter(({ process }) => process !== load.process)
}

test('a holder that is killed is replaced long before its lease ends (rule 10)', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ processes: 4, redis: { options: server.address } })
  // The lease is of 10 s; on a quiet machine it takes less than 0.5 s.
  expect(await timeToReplace(fleet)).toBeLessThan(3_000)
})

test('a holder that is killed while nobody waits is replaced by whoever asks next (rule 10)', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ redis: { options: server.address } })
  const [holder, other] = fleet.members
  await holder?.ask('key')
  await (await fleet.load(0)).process.kill()
  const askedAt = Date.now()
  const answers = await other?.ask('key', { loader: { ms: 0 } })
  expect(tally((await answers?.answers) ?? [])).toEqual([{ told: 'key by load 0 of process 1', callers: 1 }])
  expect((fleet.loads[1]?.startedAt ?? Number.NaN) - askedAt).toBeLessThan(3_000)
})

test('two holders killed one after the other cost one load more each (rule 10)', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ processes: 4, redis: { options: server.address } })
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
  await using server = await startRedis()
  const shape = { store: { wakeUp: 'poll' }, cache: { leaseTtl: 1_500 } } as const
  await using fleet = await startFleet({ processes: 3, redis: { options: server.address }, ...shape })
  // At the kill, up to a third of the lease had gone by since it was renewed.
  expect(await timeToReplace(fleet)).toBeGreaterThan(700)
})

test('in a cluster the end of the lease decides who replaces a killed holder (rule 10)', async () => {
  await using cluster = await startCluster()
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  await using fleet = await startFleet({ processes: 3, redis: { nodes }, cache: { leaseTtl: 1_500 } })
  expect(await timeToReplace(fleet)).toBeGreaterThan(700)
})

/** Kills a holder, and returns after how many milliseconds another loads; all others are answered by that load. */
async function timeToReplace(fleet: Fleet): Promise<number> {
  const crowds = await Promise.all(fleet.members.map((member) => member.ask('key', { callers: 5 })))
  await fleet.waits(fleet.members.length - 1)
  const first = await fleet.load(0)
  await first.process.kill()
  const killedAt = Date.now()
  const second = await fleet.load(1)
  await second.finish()
  for (const { number } of othersThan(first, fleet)) {
    expect(tally((await crowds[number]?.answers) ?? [])).toEqual([{ told: second.value, callers: 5 }])
  }
  expect(fleet.loads).toHaveLength(2)
  return second.startedAt - killedAt
}

const outages: [string, (load: Load) => Promise<void>, (load: Load) => void][] = [
  ['whose process stood still', async (load) => load.process.pause(), (load) => load.process.resume()],
  ['whose event loop was blocked', (load) => load.process.block(4_000), () => {}],
]

test.for(outages)('a loader %s beyond its lease changes nothing (rules 2 and 3)', async ([, begin, end]) => {
  await using server = await startRedis()
  await using fleet = await startFleet({ redis: { options: server.address }, cache: { leaseTtl: 1_000 } })
  const [holder, other] = fleet.members as [Member, Member]
  const ofHolder = await holder.ask('key', { callers: 3 })
  const first = await fleet.load(0)
  await begin(first)
  const ofOther = await other.ask('key', { callers: 3 })
  const second = await fleet.load(1)
  expect(BigInt(second.fence ?? 0)).toBeGreaterThan(BigInt(first.fence ?? 0))
  await second.finish()
  expect(tally(await ofOther.answers)).toEqual([{ told: second.value, callers: 3 }])
  end(first)
  await until('the first loader is told', () => first.aborted)
  expect(first.aborted?.code).toBe('LEASE_LOST')
  await first.finish()
  expect(tally(await ofHolder.answers), 'nobody is answered by a load that lost its lease').toEqual([
    { told: second.value, callers: 3 },
  ])
  for (const member of [holder, other]) expect(await member.peek('key')).toMatchObject({ value: second.value })
  expect(fleet.loads).toHaveLength(2)
})

test.for(outages)('a loader %s and that ends before it knows has its fill refused (rule 2)', async ([, begin, end]) => {
  await using server = await startRedis()
  await using fleet = await startFleet({ redis: { options: server.address }, cache: { leaseTtl: 1_000 } })
  const [holder, other] = fleet.members as [Member, Member]
  const ofHolder = await holder.ask('key', { callers: 3, loader: { ms: 500 } })
  const first = await fleet.load(0)
  await begin(first)
  const ofOther = await other.ask('key', { loader: { ms: 0 } })
  const second = await fleet.load(1)
  expect(tally(await ofOther.answers)).toEqual([{ told: second.value, callers: 1 }])
  end(first)
  expect(tally(await ofHolder.answers)).toEqual([{ told: second.value, callers: 3 }])
  const { refused, lost, fill } = await holder.events()
  expect({ told: refused + lost, fill }).toEqual({ told: 1, fill: 0 })
  expect(await other.peek('key')).toMatchObject({ value: second.value })
})

test('a lease that ran out while nobody else wanted it cannot fill (rule 2)', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ processes: 1, redis: { options: server.address }, cache: { leaseTtl: 500 } })
  const [holder] = fleet.members as [Member]
  const { answers } = await holder.ask('key', { loader: { ms: 300 } })
  const first = await fleet.load(0)
  first.process.pause()
  await until('the lease has run out', async () => (await server.client.exists('{herdless:key}:lease')) === 0)
  first.process.resume()
  const second = await fleet.load(1)
  expect(tally(await answers)).toEqual([{ told: second.value, callers: 1 }])
})

test('a waiting process that stood still takes part again when it goes on', async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ redis: { options: server.address } })
  const [holder, other] = fleet.members as [Member, Member]
  const ofHolder = await holder.ask('key')
  const load = await fleet.load(0)
  const ofOther = await other.ask('key', { callers: 3 })
  await fleet.waits(1)
  other.process.pause()
  await load.finish()
  expect(tally(await ofHolder.answers)).toEqual([{ told: load.value, callers: 1 }])
  other.process.resume()
  expect(tally(await ofOther.answers)).toEqual([{ told: load.value, callers: 3 }])
  expect(fleet.loads).toHaveLength(1)
})

test('an event loop that is blocked for longer than the deadline of commands is not a store that is away', async () => {
  await using server = await startRedis()
  const cache: FleetShape['cache'] = { onStoreFailure: 'throw', commandTimeout: 500 }
  await using fleet = await startFleet({ processes: 1, redis: { options: server.address }, cache })
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
