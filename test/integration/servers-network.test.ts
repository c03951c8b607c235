import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { startFleet } from '../support/fleet.ts'
import { startNetwork } from '../support/network.ts'
import { startProxy } from '../support/proxy.ts'
import { startCluster, startRedis, startSentinel, type RedisServer } from '../support/servers.ts'

describe('a proxy', () => {
  test('delivers a request twice when it is told to, and answers once', async () => {
    await using server = await startRedis()
    await using proxy = await startProxy(server)
    const client = server.connect({ host: proxy.host, port: proxy.port })
    await client.incr('before')
    const repeated = proxy.repeat('counter')
    expect(await client.incr('counter')).toBe(1)
    await repeated
    expect(await client.get('counter')).toBe('2')
    expect(await client.incr('counter')).toBe(3)
    expect(await client.get('before')).toBe('1')
  })

  test.for(['commands', 'subscriber'] as const)('can stand before the %s of a process alone', async (which) => {
    await using server = await startRedis()
    await using proxy = await startProxy(server)
    const via = { host: proxy.host, port: proxy.port }
    const redis = which === 'commands' ? { options: via, subscriber: server.address } : { subscriber: via }
    await using fleet = await startFleet({ processes: 1, redis: { options: server.address, ...redis } })
    expect(proxy.connections).toBe(1)
    const before = await connectionsTo(server)
    proxy.cut()
    await until('it has connected again', async () => (await connectionsTo(server))[which] !== before[which])
    const other = which === 'commands' ? 'subscriber' : 'commands'
    expect((await connectionsTo(server))[other]).toBe(before[other])
    expect(await fleet.members[0]?.get('key')).toMatchObject({ value: 'key by load 0 of process 0' })
  })
})

describe('a network', () => {
  test('lies between one process and a whole cluster', async () => {
    await using cluster = await startCluster()
    await using network = await startNetwork(cluster.nodes)
    const nodes = network.addressesOf(cluster.nodes)
    const far = cluster.connect({ natMap: network.natMap, redisOptions: { commandTimeout: 300 } }, nodes)
    const near = cluster.connect()
    const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`)
    await Promise.all(keys.map((key) => far.set(key, key)))
    expect(network.connections).toBeGreaterThanOrEqual(3)
    network.blackHole()
    const told = await Promise.allSettled(keys.map((key) => far.get(key)))
    expect(told.every(({ status }) => status === 'rejected')).toBe(true)
    expect(await Promise.all(keys.map((key) => near.get(key)))).toEqual(keys)
    network.heal()
    expect(await Promise.all(keys.map((key) => far.get(key)))).toEqual(keys)
    network.refuse()
    await until('it is shut out', () => network.connections === 0)
    await expect(far.get('key 0')).rejects.toThrow(/timed out|closed|Failed to refresh/)
    network.accept()
    await until('it is back', () => far.get('key 0'))
  })

  test('lies between one process and a group under sentinels', async () => {
    await using group = await startSentinel()
    await using network = await startNetwork([...group.servers, ...group.sentinels])
    const sentinels = network.addressesOf(group.sentinels)
    const far = group.connect({ sentinels, natMap: network.natMap, commandTimeout: 300 })
    await far.set('key', 'value')
    const near = group.connect()
    network.blackHole()
    await expect(far.get('key')).rejects.toThrow('timed out')
    expect(await near.get('key')).toBe('value')
    network.heal()
    expect(await far.get('key')).toBe('value')
    const elected = await group.failover()
    await until('what it writes reaches the new master', async () => {
      await far.set('key', 'again')
      return (await elected.client.get('key')) === 'again'
    })
    expect(network.to(elected).connections).toBeGreaterThan(0)
  })
})

/** The connections of the one process that is connected to a server. */
async function connectionsTo({ client }: RedisServer): Promise<{ commands: string; subscriber: string }> {
  const own = String(await client.client('ID'))
  const ids = async (type: 'normal' | 'pubsub'): Promise<string> => {
    const list = (await client.call('CLIENT', 'LIST', 'TYPE', type)) as string
    return [...list.matchAll(/^id=(\d+)/gm)]
      .map(([, id]) => id)
      .filter((id) => id !== own)
      .join()
  }
  return { commands: await ids('normal'), subscriber: await ids('pubsub') }
}
