import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Caches, type OpenCache } from '../support/caches.ts'

describe('a soft invalidation on Redis', () => {
  let caches: Caches

  beforeAll(async () => {
    caches = await Caches.start()
  })

  afterAll(async () => {
    await caches.stop()
  })

  function open(namespace?: string): Promise<OpenCache> {
    return caches.open({ namespace, ttl: '1h', grace: '1h' })
  }

  test('costs one command, by key or by tags, however many values there are', async () => {
    const { cache } = await open()
    const keys = Array.from({ length: 500 }, (_, index) => `k${index}`)
    await Promise.all(keys.map((key) => cache.set(key, 1, { tags: ['x'] })))
    expect(await caches.sent(() => cache.expire('k1'))).toEqual({ evalsha: 1 })
    expect(await caches.sent(() => cache.invalidateTags(['x', 'y'], { soft: true }))).toEqual({ evalsha: 1 })
    for (const key of ['k0', 'k1', 'k499']) expect(await cache.peek(key)).toMatchObject({ state: 'stale', value: 1 })
  })

  test('leaves a hit the one plain read that it was', async () => {
    const { cache, namespace } = await open()
    const other = (await open(namespace)).cache
    await cache.set('none', 1)
    await cache.set('some', 1, { tags: ['x'] })
    await cache.invalidateTags(['x'], { soft: true })
    await cache.expire('none')
    await cache.set('none', 2)
    await cache.set('some', 2, { tags: ['x'] })
    const hit = (key: string, options = {}) => {
      return caches.sent(async () => expect(await other.getOrLoad(key, () => 3, options)).toBe(2))
    }
    expect(await hit('none')).toEqual({ get: 1 })
    expect(await hit('some', { tags: ['x'] })).toEqual({ mget: 1 })
  })

  test.each(['expire', 'tags'] as const)(
    'by %s costs a refresh what the end of a ttl does, and a word to copies that nobody waits for',
    async (by) => {
      const { cache, namespace } = await open()
      const other = (await open(namespace)).cache
      const refreshed = (key: string) =>
        caches.sent(async () => {
          const filled = new Promise((resolve, reject) => {
            other.on('fill', resolve)
            for (const name of ['lost', 'refused', 'failure', 'storeFailure'] as const)
              other.on(name, (event) => reject(new Error(`The refresh ended with ${name}: ${JSON.stringify(event)}`)))
          })
          expect(await other.getOrLoad(key, () => 2, { tags: ['x'] })).toBe(1)
          await filled
        })
      await cache.set('ended', 1, { tags: ['x'], ttl: 1 })
      await cache.set('softly', 1, { tags: ['x'] })
      while ((await cache.peek('ended')).state === 'fresh');
      const expected = await refreshed('ended')
      await (by === 'expire' ? cache.expire('softly') : cache.invalidateTags(['x'], { soft: true }))
      const { evalsha = 0, ...reads } = await refreshed('softly')
      const { evalsha: usual = 0, ...usualReads } = expected
      expect(reads).toEqual(usualReads)
      expect(evalsha - usual).toBeLessThanOrEqual(1)
    },
  )

  test('holds whatever the clock of the server is set to, and that of a reader is thought to be (rule 4)', async () => {
    const { cache, client, namespace } = await open()
    const key = `{${namespace}:a}`
    await cache.set('a', 'old')
    await cache.expire('a')
    const bytes = (await client.getBuffer(key)) as Buffer
    // As it looks when the clock has been set back: its time is yet to come.
    bytes.writeUIntBE(bytes.readUIntBE(24, 6) + 3_000, 24, 6)
    await client.set(key, bytes, 'KEEPTTL')
    expect(await cache.peek('a')).toMatchObject({ state: 'stale', value: 'old' })
    expect(await cache.getOrLoad('a', () => 'new', { grace: 0 })).toBe('new')
  })

  test('keeps what is stored with the value: its payload, its tags and its validators', async () => {
    const { cache } = await open()
    const load = (stale: unknown): Promise<unknown> =>
      new Promise((resolve) => {
        void cache.getOrLoad(
          'a',
          (context) => {
            if (stale !== null) resolve(context.stale)
            context.tags('x', 'y')
            context.validators({ etag: '"1"' })
            if (stale === null) setImmediate(resolve)
            return { list: ['💥'] }
          },
          {},
        )
      })
    await load(null)
    while ((await cache.peek('a')).state === 'missing');
    await cache.expire('a')
    expect((await cache.explain('a')).value).toMatchObject({ tags: ['x', 'y'], ttl: 0 })
    expect(await load('is there')).toMatchObject({ value: { list: ['💥'] }, etag: '"1"' })
  })

  test('makes nothing of what is no value, and of what may not be served stale', async () => {
    const { cache, client, namespace } = await open()
    const key = `{${namespace}:a}`
    for (const foreign of ['', 'text', Buffer.alloc(48, 177), Buffer.alloc(4, 177)]) {
      await client.set(key, foreign)
      await cache.expire('a')
      expect(await cache.peek('a')).toEqual({ state: 'missing' })
    }
    await client.del(key)
    await client.hset(key, 'field', 'value')
    await cache.expire('a')
    expect(await cache.peek('a')).toEqual({ state: 'missing' })
    await cache.set('a', 1, { grace: 0 })
    await cache.expire('a')
    expect(await client.exists(key)).toBe(0)
    await cache.set('a', 1, { grace: '5m' })
    await cache.expire('a')
    expect(await client.pttl(key)).toBeLessThanOrEqual(300_000)
  })

  test('of all values leaves the tags of values alone, whatever their names end in', async () => {
    const { cache } = await open()
    await cache.set('a', 1, { tags: ['category:{3}'] })
    await cache.clear({ soft: true })
    expect(await cache.peek('a')).toMatchObject({ state: 'stale', value: 1 })
    const versioned = (await caches.open({ ttl: '1h', grace: '1h', version: '2' })).cache
    const key = JSON.stringify({ q: 1 })
    await versioned.set(key, 1)
    await versioned.clear({ soft: true })
    expect(await versioned.peek(key)).toMatchObject({ state: 'stale', value: 1 })
  })

  test.each(['garbage', 'inf', '-1', '1 x', '1 1e300', ' 1'])(
    'holds where somebody has written %j in place of a tag',
    async (written) => {
      const { cache, client, namespace } = await open()
      await cache.set('a', 1, { tags: ['x'] })
      await client.set(`{${namespace}:}:x`, written, 'PX', 3_600_000)
      await cache.invalidateTags(['x'], { soft: true })
      expect((await cache.peek('a')).state).not.toBe('fresh')
      await cache.getOrLoad('a', () => 2, { tags: ['x'], grace: 0 })
      expect(await cache.peek('a')).toMatchObject({ state: 'fresh', value: 2 })
    },
  )
})
