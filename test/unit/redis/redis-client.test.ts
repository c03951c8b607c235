import { Cluster, Redis } from 'ioredis'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { describe, expect, test, vi } from 'vitest'
import { portOf, type RedisClient } from '../../../src/redis/clients/redis-client.ts'
import { redisLock, redisStore, redlock } from '../../../src/redis/index.ts'

const nodes = [{ host: '127.0.0.1', port: 1 }]
const name = 'main'

// None of them is connected.
const clients: Record<string, () => RedisClient> = {
  'Redis of ioredis': () => new Redis({ lazyConnect: true }),
  'Cluster of ioredis': () => new Cluster(nodes, { lazyConnect: true }),
  'createClient of node-redis': () => createClient(),
  'createClient of node-redis, with a mapping': () => createClient().withTypeMapping({}),
  'createCluster of node-redis': () => createCluster({ rootNodes: [] }),
  'createSentinel of node-redis': () => createSentinel({ name, sentinelRootNodes: nodes }),
}

describe('a client of Redis', () => {
  test.for(Object.entries(clients))('is known by its members: %s', ([kind, make]) => {
    const client = make()
    const port = portOf(client)
    expect(port.isCluster).toBe(/cluster/i.test(kind))
    expect(portOf(client), 'one adapter for all that is on it').toBe(port)
    expect(portOf(port), 'an adapter is a client, too').toBe(port)
  })

  test('is none if it is of a node-redis before 5.9, whose writes cannot be held back', () => {
    const before = Object.create(createClient(), { _pause: { value: undefined } }) as RedisClient
    expect(() => portOf(before)).toThrow(/^Expected a client of .* of node-redis 5\.9 or newer/)
  })

  test('has the prefix that its options say', () => {
    expect(portOf(new Redis({ lazyConnect: true, keyPrefix: 'a:' })).keyPrefix).toBe('a:')
    expect(portOf(createClient({ keyPrefix: 'b:' })).keyPrefix).toBe('b:')
    expect(portOf(createCluster({ rootNodes: [], keyPrefix: 'c:' })).keyPrefix).toBe('c:')
    expect(portOf(createClient()).keyPrefix).toBe('')
  })

  const others: Record<string, unknown> = {
    undefined: undefined,
    null: null,
    'a URL': 'redis://:secret@localhost',
    'an empty object': {},
    'a pool of node-redis': createClientPool(),
    'options of a client': { url: 'redis://localhost' },
    'half an adapter': { get: () => null, mget: () => null, evaluate: () => null },
  }

  test.for(Object.entries(others))('is refused if it is another thing: %s', ([, value]) => {
    const client = value as RedisClient
    const message =
      /^Expected a client of ioredis 5 or 6 \(Redis or Cluster\), of node-redis 5\.9 or newer \(createClient, createCluster or createSentinel\), of Valkey GLIDE 2\.3 or newer \(GlideClient\), or an adapter \(RedisPort\), got (?!.*secret)/
    for (const make of [
      () => redisStore(client),
      () => redisLock(client),
      () => redlock([createClient(), createClient(), client]),
    ]) {
      expect(make).toThrow(TypeError)
      expect(make).toThrow(message)
    }
  })

  test.for([
    ['Redis', () => new Redis({ lazyConnect: true, retryStrategy: () => null })],
    ['Cluster', () => new Cluster(nodes, { lazyConnect: true, clusterRetryStrategy: () => null })],
  ] as const)('of ioredis that gives up has a subscriber that does not: %s', ([, make]) => {
    const client = make()
    const duplicate = vi.spyOn(client, 'duplicate')
    const nothing = (): void => undefined
    portOf(client).subscriber('channel', { opened: nothing, lost: nothing, failed: nothing, message: nothing }).close()
    const [own] = duplicate.mock.results.map(({ value }) => value as { options: Record<string, unknown> })
    const { retryStrategy, clusterRetryStrategy } = own?.options ?? {}
    const pause = (client.isCluster ? clusterRetryStrategy : retryStrategy) as (attempt: number) => unknown
    expect(pause(1_000)).toBe(2_000)
  })

  test('of ioredis that is a Cluster and reads from replicas is refused', () => {
    const client = new Cluster(nodes, { lazyConnect: true, scaleReads: 'all' })
    expect(() => redisStore(client)).toThrow(/reads from masters/)
  })
})
