import { Redis } from 'ioredis'
import { describe, expect, inject, test } from 'vitest'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisSemaphore } from '../../src/redis/index.ts'
import { lockContract } from '../../src/testing/index.ts'
import { disconnect, nodeRedis, type OpenClient } from '../support/node-redis.ts'
import { timeout } from './redis-clients.ts'

const ioredis = (): OpenClient => new Redis(inject('redisUrl'))
const kinds = [
  { name: 'ioredis', connect: ioredis, options: {} },
  { name: 'ioredis, polling', connect: ioredis, options: { wakeUp: 'poll' as const } },
  { name: 'node-redis', connect: () => nodeRedis({ url: inject('redisUrl') }), options: {} },
]

// With one permit, a semaphore is a lock.
for (const { name, connect, options } of kinds) {
  lockContract({
    name: `redisSemaphore on ${name}`,
    test,
    fences: false,
    fair: false,
    open: async () => {
      const clients = [connect(), connect()]
      const ports = clients.map(portOf)
      await Promise.all(ports.map((port) => port.call('time', null, [])))
      return {
        locks: clients.map((client) => redisSemaphore(client, { permits: 1, commandTimeout: timeout, ...options })),
        waiting: async (lock) => Math.max(0, Number(await ports[0]?.call('hlen', `semaphore:${lock}`, [])) - 1),
        close: async () => clients.forEach(disconnect),
      }
    },
    timeout,
  })
}

describe('redisSemaphore', () => {
  test('lets as many hold a name as it has permits, and serves those that wait in their order', async () => {
    const clients = [ioredis(), ioredis()] as [Redis, Redis]
    const [here, there] = clients.map((client) => redisSemaphore(client, { permits: 2, wait: '30s' }))
    if (here === undefined || there === undefined) throw new Error('Expected two')
    const name = `order ${Math.random()}`
    const [one, two] = [await here.acquire(name), await there.acquire(name)]
    expect(await here.tryAcquire(name)).toBeNull()
    const order: string[] = []
    const waits = async (who: string, semaphore: typeof here): Promise<void> => {
      const lease = await semaphore.acquire(name)
      order.push(who)
      await lease.release()
    }
    const first = waits('first', there)
    const client = clients[0]
    await expect.poll(() => client.hlen(`semaphore:${name}`), { timeout: 10_000 }).toBe(3)
    const second = waits('second', here)
    await expect.poll(() => client.hlen(`semaphore:${name}`), { timeout: 10_000 }).toBe(4)
    expect(order).toEqual([])
    expect(await one.release()).toBe('released')
    await Promise.all([first, second])
    expect(order).toEqual(['first', 'second'])
    expect(await two.release()).toBe('released')
    expect(await client.exists(`semaphore:${name}`)).toBe(0)
    await Promise.all([here.close(), there.close()])
    clients.forEach(disconnect)
  })

  test('says what it wants', () => {
    const client = ioredis()
    expect(() => redisSemaphore(client, {} as never)).toThrow(
      new TypeError('Expected the option `permits` of redisSemaphore, got none'),
    )
    expect(() => redisSemaphore(client, { permits: 0 })).toThrow(TypeError)
    expect(() => redisSemaphore(client, { permits: 1, fair: true } as never)).toThrow(TypeError)
    disconnect(client)
  })
})
