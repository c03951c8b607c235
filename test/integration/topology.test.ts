import { describe, expect, test, vi } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createCache } from '../../src/index.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisStore } from '../../src/redis/index.ts'
import { setFleetMode } from '../../src/redis/values/fleet-mode.ts'
import { reuseProcesses, startFleet, tally, type Fleet, type FleetShape } from '../support/fleet.ts'
import { startCluster, startRedis, type RedisCluster, type RedisServer } from '../support/servers.ts'

function nodesOf(cluster: RedisCluster): { host: string; port: number }[] {
  return cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
}

/** The protocol in short, an invalidation and a killed holder; returns how many loads were made and were to be made. */
async function herdOf(fleet: Fleet): Promise<{ loads: number; wanted: number }> {
  const { answers } = await fleet.ask('key', { callers: 5 })
  await fleet.waits(fleet.members.length - 1)
  const first = await fleet.load(0)
  await first.finish()
  expect(tally(await answers)).toEqual([{ told: first.value, callers: 5 * fleet.members.length }])
  await fleet.members[1]?.invalidate('key')
  for (const member of fleet.members) expect((await member.peek('key')).state).toBe('missing')
  const crowds = await Promise.all(fleet.members.map((member) => member.ask('key', { callers: 5 })))
  await fleet.waits(2 * (fleet.members.length - 1))
  const second = await fleet.load(1)
  await second.process.kill()
  const third = await fleet.load(2)
  await third.finish()
  for (const { number, process } of fleet.members) {
    if (process === second.process) continue
    expect(tally((await crowds[number]?.answers) ?? [])).toEqual([{ told: third.value, callers: 5 }])
  }
  return { loads: fleet.loads.length, wanted: 3 }
}

reuseProcesses()

const clients: [string, NonNullable<FleetShape['each']>][] = [
  ['ioredis 5 and 6', (number) => ({ redis: { ...(number % 2 === 0 && { older: true }) } })],
  ['a key prefix', () => ({ redis: { options: { keyPrefix: 'app:' } } })],
  ['a key prefix with braces', () => ({ redis: { options: { keyPrefix: '{app}:' } } })],
  ['another database', () => ({ redis: { options: { db: 3 } } })],
  ['autopipelining', () => ({ redis: { options: { enableAutoPipelining: true } } })],
]

test.for(clients)('clients with %s are one herd', async ([, each]) => {
  await using server = await startRedis()
  const shape: FleetShape['each'] = (number) => {
    const { redis } = each(number)
    return { redis: { ...redis, options: { ...server.address, ...redis?.options } } }
  }
  await using fleet = await startFleet({ processes: 4, redis: {}, each: shape })
  const { loads, wanted } = await herdOf(fleet)
  expect(loads).toBe(wanted)
})

test.for(['one server', 'a cluster'])('on %s a load of three times its lease is one load', async (shape) => {
  await using servers = shape === 'one server' ? await startRedis() : await startCluster()
  const redis = 'nodes' in servers ? { nodes: nodesOf(servers) } : { options: servers.address }
  await using fleet = await startFleet({ processes: 4, redis, cache: { leaseTtl: 1_000 } })
  const { answers } = await fleet.ask('key', { callers: 250, loader: { ms: 3_000 } })
  expect(tally(await answers)).toEqual([{ told: fleet.loads[0]?.value, callers: 1_000 }])
  expect(fleet.loads).toHaveLength(1)
  expect(fleet.loads[0]?.aborted).toBeUndefined()
})

describe('in a cluster', () => {
  test('of three masters, many keys at once are loaded once each', async () => {
    await using cluster = await startCluster()
    const each: FleetShape['each'] = (number) => ({
      redis: { nodes: nodesOf(cluster), ...(number === 0 && { older: true }) },
    })
    await using fleet = await startFleet({ processes: 3, redis: {}, each })
    // Braces must not take a lease to another node than its value.
    const names = ['{', '}', '{}', '{a}', 'a{b', '}{', '{{x}}', '键']
    const keys = Array.from({ length: 60 }, (_, index) => `${names[index % names.length]} ${index}`)
    const crowds = await Promise.all(keys.map((key) => fleet.ask(key, { callers: 3 })))
    await fleet.waits(2 * keys.length)
    for (const load of fleet.loads) await load.finish()
    for (const [index, { answers }] of crowds.entries()) {
      const told = tally(await answers)
      const loads = fleet.loadsOf(keys[index] as string)
      expect(loads).toHaveLength(1)
      expect(told).toEqual([{ told: loads[0]?.value, callers: 9 }])
    }
    const sizes = await Promise.all(cluster.masters.map(({ client }) => client.dbsize()))
    // The values, and the epoch of the tags.
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(keys.length + 1)
    expect(Math.min(...sizes)).toBeGreaterThan(0)
    for (const [index, key] of keys.entries()) await fleet.members[index % 3]?.invalidate(key)
    for (const key of keys) expect((await fleet.members[0]?.peek(key))?.state).toBe('missing')
  })

  test('an error is told to those who wait, and remembered, while the slot of its key moves', async () => {
    await using cluster = await startCluster()
    const redis = { nodes: nodesOf(cluster) }
    await using fleet = await startFleet({ processes: 2, redis, cache: { failureCooldown: '1m' } })
    const lease = '{herdless:key}:lease'
    const crowd = await fleet.ask('key', { callers: 3 })
    await fleet.waits(1)
    const load = await fleet.load(0)
    const slot = await cluster.slotOf(lease)
    const from = await cluster.masterOfSlot(slot)
    await cluster.beginMove(slot, cluster.masters.find((master) => master !== from) as RedisServer)
    await load.fail({ name: 'Error', message: 'away' })
    expect(tally(await crowd.answers)).toEqual([{ told: 'LOAD_FAILED', callers: 6 }])
    expect(await from.client.hmget(lease, 'state', 'inbox')).toEqual(['failed', null])
  })

  test('of a client that pipelines each script goes out alone, and all leases are renewed and filled', async () => {
    await using cluster = await startCluster()
    const client = cluster.connect({ enableAutoPipelining: true })
    const pipelines = vi.spyOn(client, 'pipeline')
    await using cache = createCache({ store: redisStore(client), ttl: '1h', leaseTtl: 1_000, commandTimeout: '30s' })
    const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`)
    let begun = 0
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => (end = resolve))
    const load = async (): Promise<string> => {
      begun++
      await ended
      return 'loaded'
    }
    const loads = Promise.all(keys.map((key) => cache.getOrLoad(key, load)))
    await until('all are loaded', () => begun === keys.length)
    const masters = await Promise.all(keys.map((key) => cluster.masterOf(`{herdless:${key}}`)))
    expect(new Set(masters).size).toBe(cluster.masters.length)
    await until('all leases were renewed twice', async () => {
      const renewals = keys.map(
        async (key, at) => await masters[at]?.client.hget(`{herdless:${key}}:lease`, 'renewals'),
      )
      return (await Promise.all(renewals)).every((count) => Number(count) >= 2)
    })
    end()
    expect(new Set(await loads)).toEqual(new Set(['loaded']))
    expect(begun).toBe(keys.length)
    for (const key of keys) expect(await cache.peek(key)).toMatchObject({ state: 'fresh', value: 'loaded' })
    // The client has made some for commands of one tick, too.
    const made = pipelines.mock.results.map(({ value }) => value as { _queue: { name: string }[] })
    const scripts = made
      .map(({ _queue: sent }) => sent.map(({ name }) => name))
      .filter((sent) => sent.includes('evalsha'))
    expect(scripts.length).toBeGreaterThanOrEqual(4 * keys.length)
    expect(scripts.filter((sent) => sent.length > 1)).toEqual([])
  })

  test('a process is told once that the mode of the fleet was set', async () => {
    await using cluster = await startCluster()
    const client = cluster.connect()
    await using cache = createCache({ store: redisStore(client), ttl: '1h', commandTimeout: '30s' })
    await cache.getOrLoad('key', () => 1)
    await until('all masters see it', async () => {
      const channels = cluster.masters.map((master) => master.client.pubsub('CHANNELS', 'herdless:inbox:*:here'))
      return (await Promise.all(channels)).every((list) => (list as unknown[]).length === 1)
    })
    expect(await setFleetMode(portOf(client), 'herdless:', { mode: 'off', ms: 60_000 })).toBe(1)
    await until('it is told', () => cache.mode === 'off')
  })
})
