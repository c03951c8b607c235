import { describe, expect, test } from 'vitest'
import { startCluster, startSentinel } from '../support/servers.ts'

const ways = ['command', 'kill', 'freeze'] as const

describe('a group under sentinels', { timeout: 90_000 }, () => {
  test.for(ways)('has another master after a failover by %s, which the old one follows', async (how) => {
    await using group = await startSentinel()
    const client = group.connect()
    await client.set('key', 'value')
    const old = await group.master()
    const elected = await group.failover(how)
    expect(elected).not.toBe(old)
    expect(await group.master()).toBe(elected)
    expect(await elected.client.get('key')).toBe('value')
    expect(old?.running).toBe(how === 'command')
    await group.restore()
    expect(await group.master()).toBe(elected)
    await expect(old?.client.set('key', 'again')).rejects.toThrow('READONLY')
    expect(await client.set('key', 'again')).toBe('OK')
  })
})

describe('a cluster', { timeout: 90_000 }, () => {
  test.for(ways)('has another master after a failover by %s, which the old one follows', async (how) => {
    await using cluster = await startCluster({ replicas: 1, nodeTimeout: 1_000 })
    const client = cluster.connect()
    await client.set('key', 'value')
    await client.wait(1, 1_000)
    const old = await cluster.masterOf('key')
    const slots = await cluster.slotsOf(old)
    const successor = await cluster.failover(old, how)
    expect(cluster.replicas).toContain(successor)
    expect(await cluster.slotsOf(successor)).toEqual(slots)
    expect(await cluster.masterOf('key')).toBe(successor)
    expect(await successor.client.get('key')).toBe('value')
    expect(old.running).toBe(how === 'command')
    expect(await successor.client.set('key', 'again')).toBe('OK')
    await cluster.restore()
    const id = await successor.client.cluster('MYID')
    for (const { client: node } of cluster.nodes)
      expect(String(await node.cluster('NODES'))).toMatch(new RegExp(`:${old.port}@\\S* \\S*slave ${id} `))
    await expect(old.client.set('key', 'value')).rejects.toThrow(`MOVED 12539 127.0.0.1:${successor.port}`)
    expect(await cluster.failover(successor)).toBe(old)
    expect(await client.get('key')).toBe('again')
  })
})

describe('a slot on the move', () => {
  const keys = ['{slot}:a', '{slot}:b', '{slot}:c'] as const

  test('is asked for here and there until it has moved', async () => {
    await using cluster = await startCluster()
    const client = cluster.connect()
    for (const key of keys) await client.set(key, key)
    const slot = await cluster.slotOf('{slot}')
    const from = await cluster.masterOfSlot(slot)
    const to = cluster.masters.find((master) => master !== from) as (typeof cluster.masters)[number]
    const move = await cluster.beginMove(slot, to)
    expect(await from.client.mget(...keys)).toEqual(keys)
    await expect(from.client.get('{slot}:new')).rejects.toThrow(`ASK ${slot} 127.0.0.1:${to.port}`)
    expect(await move.step(2)).toBe(2)
    await expect(from.client.mget(...keys)).rejects.toThrow('TRYAGAIN')
    await expect(to.client.get(keys[0])).rejects.toThrow(`MOVED ${slot} 127.0.0.1:${from.port}`)
    const [, asked] =
      (await to.client
        .pipeline()
        .asking()
        .mget(...keys)
        .exec()) ?? []
    expect(asked?.[0]?.message).toContain('TRYAGAIN')
    expect(await Promise.all(keys.map((key) => client.get(key)))).toEqual(keys)
    expect(await client.set('{slot}:new', 'new')).toBe('OK')
    expect(await cluster.masterOfSlot(slot)).toBe(from)
    expect(await move.step(2)).toBe(1)
    expect(await move.step(2)).toBe(0)
    await move.finish()
    await expect(from.client.get(keys[0])).rejects.toThrow(`MOVED ${slot} 127.0.0.1:${to.port}`)
    expect(await to.client.mget(...keys, '{slot}:new')).toEqual([...keys, 'new'])
    await cluster.whole()
    expect(await cluster.masterOfSlot(slot)).toBe(to)
  })
})
