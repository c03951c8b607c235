import { expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { patient, reuseProcesses, startFleet, tally, type Fleet, type Load } from '../support/fleet.ts'
import { startCluster, type RedisCluster, type RedisServer } from '../support/servers.ts'

reuseProcesses()

const lease = '{herdless:key}:lease'

/** A fleet whose leases outlive each test: a holder that is replaced is replaced because it is dead. */
async function fleetOn(cluster: RedisCluster, processes = 2): Promise<Fleet> {
  const redis = { nodes: cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })) }
  return await startFleet({ processes, redis, cache: { ...patient, leaseTtl: '1m' } })
}

function idOf({ client }: RedisServer): Promise<string> {
  return client.cluster('MYID') as Promise<string>
}

/** Resolves when a node says itself that it sees the holder, which may be with its next renewal. */
async function seen(node: RedisServer): Promise<void> {
  const id = await idOf(node)
  await until(
    'the node of the lease sees its holder',
    async () => (await node.client.hget(lease, 'watched')) === id,
    60_000,
  )
}

/** A load whose holder its node sees, and a process that waits for it. */
async function watchedLoad(fleet: Fleet, cluster: RedisCluster) {
  const crowd = await fleet.ask('key')
  await fleet.waits(fleet.members.length - 1)
  const load = await fleet.load(0)
  const node = await cluster.masterOf(lease)
  await seen(node)
  return { crowd, load, node }
}

/** Resolves when the waiters have asked whether the load is still under way, several times. */
async function asked(node: RedisServer): Promise<void> {
  const calls = async (): Promise<number> => {
    const line = (await node.client.info('commandstats')).match(/cmdstat_evalsha:calls=(\d+)/)
    return Number(line?.[1] ?? 0)
  }
  const before = await calls()
  await until('the waiters have asked', async () => (await calls()) > before + 10, 60_000)
}

async function finished(load: Load, crowd: Awaited<ReturnType<Fleet['ask']>>, fleet: Fleet): Promise<void> {
  await load.finish()
  expect(tally(await crowd.answers)).toEqual([{ told: load.value, callers: fleet.members.length }])
  expect(fleet.loads).toHaveLength(1)
  expect(load.aborted).toBeUndefined()
}

test('in a cluster, a killed holder is replaced long before its lease is over (rule 10)', async () => {
  await using cluster = await startCluster()
  await using fleet = await fleetOn(cluster, 3)
  const crowds = await Promise.all(fleet.members.map((member) => member.ask('key')))
  await fleet.waits(2)
  const first = await fleet.load(0)
  await seen(await cluster.masterOf(lease))
  await first.process.kill()
  const second = await fleet.load(1)
  await second.finish()
  for (const { number } of fleet.members.filter(({ process }) => process !== first.process))
    expect(tally((await crowds[number]?.answers) ?? [])).toEqual([{ told: second.value, callers: 1 }])
  expect(fleet.loads).toHaveLength(2)
})

test('a holder whose node has lost its place keeps its lease, although the next node does not see it', async () => {
  await using cluster = await startCluster({ replicas: 1 })
  await using fleet = await fleetOn(cluster)
  const { crowd, load, node } = await watchedLoad(fleet, cluster)
  // It can tell nobody that it lives.
  load.process.pause()
  const next = await cluster.failover(node, 'takeover')
  await asked(next)
  expect(await next.client.hget(lease, 'token')).not.toBeNull()
  expect(await next.client.hget(lease, 'suspect')).toBeNull()
  load.process.resume()
  await finished(load, crowd, fleet)
})

test('a holder whose lease moves to another node keeps it, and is seen there as well', async () => {
  await using cluster = await startCluster()
  await using fleet = await fleetOn(cluster)
  const { crowd, load, node } = await watchedLoad(fleet, cluster)
  const to = cluster.masters.find((master) => master !== node) as RedisServer
  load.process.pause()
  await cluster.moveSlots([await cluster.slotOf(lease)], to)
  await asked(to)
  expect(await to.client.hget(lease, 'suspect')).toBeNull()
  load.process.resume()
  await seen(to)
  await finished(load, crowd, fleet)
})

test('a holder that a node sees no more, but that lives, takes its name off its lease and keeps it', async () => {
  await using cluster = await startCluster()
  await using fleet = await fleetOn(cluster)
  const { crowd, load, node } = await watchedLoad(fleet, cluster)
  const inbox = (await node.client.hget(lease, 'inbox')) ?? ''
  await node.client.call('ACL', 'SETUSER', 'default', 'resetchannels')
  await until('its name is off', async () => (await node.client.hget(lease, 'watched')) === null)
  expect(await node.client.pubsub('NUMSUB', `${inbox}:here`)).toEqual([`${inbox}:here`, 0])
  await asked(node)
  await node.client.call('ACL', 'SETUSER', 'default', 'allchannels')
  await finished(load, crowd, fleet)
})
