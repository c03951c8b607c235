import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { startCluster, startSentinel, type RedisCluster, type RedisServer } from '../support/servers.ts'

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

  test('remembers its roles across restarts', async () => {
    await using group = await startSentinel()
    const old = await group.master()
    const elected = await group.failover()
    await group.whole()
    await elected.restart()
    expect(await elected.client.role()).toContain('master')
    await old?.restart()
    expect(await old?.client.role()).toEqual(expect.arrayContaining(['slave', elected.port]))
    await group.whole()
    expect(await group.master()).toBe(elected)
    expect(await group.failover()).not.toBe(elected)
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

  test('takes its keys along, however many slots and however busy', async () => {
    await using cluster = await startCluster({ replicas: 1 })
    const [from, to] = cluster.masters as [RedisServer, RedisServer]
    const [slot = 0] = await cluster.slotsOf(from)
    const slots = Array.from({ length: 20 }, (_, index) => slot + index)
    const many = await keysOf(cluster, slots)
    const client = cluster.connect()
    let rounds = 0
    let moved = false
    const writing = (async () => {
      while (!moved) {
        await Promise.all(many.map((key) => client.set(`${key}:${rounds % 10}`, String(rounds))))
        rounds++
      }
    })()
    await until('all keys are there', () => rounds > 10)
    await cluster.moveSlots(slots, to, { keysAtOnce: 3, stepEvery: 5 })
    moved = true
    await writing
    expect(rounds).toBeGreaterThan(20)
    for (const master of await Promise.all(slots.map((each) => cluster.masterOfSlot(each)))) expect(master).toBe(to)
    await cluster.whole()
    for (let round = rounds - 10; round < rounds; round++) {
      const values = await Promise.all(many.map((key) => to.client.get(`${key}:${round % 10}`)))
      expect(new Set(values)).toEqual(new Set([String(round)]))
    }
  })
})

/** One hash tag in each of these slots. */
async function keysOf(cluster: RedisCluster, slots: readonly number[]): Promise<string[]> {
  const keys = new Map<number, string>()
  for (let number = 0; keys.size < slots.length; number++) {
    const key = `{${number}}`
    const slot = await cluster.slotOf(key)
    if (slots.includes(slot)) keys.set(slot, key)
  }
  return [...keys.values()]
}
