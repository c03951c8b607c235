import { randomBytes, randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { Packr } from 'msgpackr'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { compressed, encrypted, msgpackrCodec, v8Codec } from '../../src/codecs/index.ts'
import { createCache, type Cache, type CacheEvents, type Codec } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'

const client = new Redis(inject('redisUrl'))
const caches: Cache[] = []

afterAll(async () => {
  await Promise.all(caches.map((cache) => cache.close()))
  client.disconnect()
})

/** A process, as it were, that speaks this codec; and what it found that it could not read. */
function speaking(codec: Codec, namespace: string): { cache: Cache; garbage: CacheEvents['garbage'][] } {
  const cache = createCache({ store: redisStore(client), namespace, codec, ttl: '1m', commandTimeout: '30s' })
  caches.push(cache)
  const garbage: CacheEvents['garbage'][] = []
  cache.on('garbage', (event) => garbage.push(event))
  return { cache, garbage }
}

const [old, young] = [
  { id: 'old', key: randomBytes(32) },
  { id: 'young', key: randomBytes(32) },
]

function loader(value: unknown): { load: () => unknown; loads: () => number } {
  let loads = 0
  return { load: () => (loads++, value), loads: () => loads }
}

describe('on Redis', () => {
  test('a value written under the old key is read after a rotation, and new ones are written under the new key', async () => {
    const namespace = `codecs-${randomUUID()}`
    const before = speaking(encrypted(v8Codec(), { keys: [old] }), namespace)
    const during = speaking(encrypted(v8Codec(), { keys: [young, old] }), namespace)
    const after = speaking(encrypted(v8Codec(), { keys: [young] }), namespace)
    await before.cache.getOrLoad('user:1', () => ({ name: 'Ada' }))
    const { load, loads } = loader({ name: 'nobody' })
    expect(await during.cache.getOrLoad('user:1', load)).toEqual({ name: 'Ada' })
    expect(loads()).toBe(0)
    await during.cache.getOrLoad('user:2', () => ({ name: 'Grace' }))
    expect(await after.cache.getOrLoad('user:2', load)).toEqual({ name: 'Grace' })
    expect(loads()).toBe(0)
    expect([before, during, after].flatMap(({ garbage }) => garbage)).toEqual([])
  })

  test('a value of a key that is unknown counts as no value and is loaded again, once', async () => {
    const namespace = `codecs-${randomUUID()}`
    const before = speaking(encrypted(v8Codec(), { keys: [old] }), namespace)
    const after = [1, 2].map(() => speaking(encrypted(v8Codec(), { keys: [young] }), namespace))
    await before.cache.getOrLoad('user:1', () => 'Ada')
    expect(await after[0]?.cache.peek('user:1')).toEqual({ state: 'missing' })
    const { load, loads } = loader('Grace')
    const answers = await Promise.all(
      after.flatMap(({ cache }) => [cache, cache].map((c) => c.getOrLoad('user:1', load))),
    )
    expect(answers).toEqual(['Grace', 'Grace', 'Grace', 'Grace'])
    expect(loads()).toBe(1)
    expect(await after[1]?.cache.peek('user:1')).toMatchObject({ state: 'fresh', value: 'Grace' })
    const causes = after.flatMap(({ garbage }) => garbage.map(({ cause }) => (cause as Error).message))
    expect(new Set(causes)).toEqual(new Set(['Cannot read a stored value: there is no key with its id, "old"']))
  })

  test('nothing of an encrypted value can be read, and one that was tampered with is loaded again', async () => {
    const namespace = `codecs-${randomUUID()}`
    const { cache, garbage } = speaking(
      encrypted(compressed(v8Codec()), { keys: [old], context: namespace }),
      namespace,
    )
    const secret = 'hunter2 '.repeat(1_000)
    await cache.set('token', { secret })
    const [place] = (await client.keys(`{${namespace}:*`)) as [string]
    const bytes = (await client.getBuffer(place)) as Buffer
    expect(bytes.toString('latin1')).not.toContain('hunter2')
    expect(bytes.length).toBeLessThan(1_000)
    bytes[bytes.length - 20] = (bytes[bytes.length - 20] as number) ^ 1
    await client.set(place, bytes, 'PX', 60_000)
    expect(await cache.getOrLoad('token', () => 'loaded again')).toBe('loaded again')
    expect(garbage.length).toBeGreaterThan(0)
  })

  test('processes with other options of compression read each other', async () => {
    const namespace = `codecs-${randomUUID()}`
    const packr = (): Codec => msgpackrCodec(new Packr({ moreTypes: true }))
    const gzip = speaking(compressed(packr()), namespace)
    const brotli = speaking(compressed(packr(), { algorithm: 'brotli', above: 10 }), namespace)
    const value = { rows: Array.from({ length: 500 }, (_, id) => ({ id, at: new Date(id), tags: new Set(['a']) })) }
    await gzip.cache.set('a', value)
    await brotli.cache.set('b', value)
    expect(await brotli.cache.peek('a')).toMatchObject({ state: 'fresh', value })
    expect(await gzip.cache.peek('b')).toMatchObject({ state: 'fresh', value })
  })
})
