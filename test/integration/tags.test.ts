import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createCache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { fill, settle } from '../../src/redis/scripts.ts'
import { Caches, type OpenCache } from '../support/caches.ts'
import { startCluster } from '../support/servers.ts'

describe('tags on Redis', () => {
  let caches: Caches

  beforeAll(async () => {
    caches = await Caches.start()
  })

  afterAll(async () => {
    await caches.stop()
  })

  function open(namespace?: string): Promise<OpenCache> {
    return caches.open({ namespace, ttl: '1h' })
  }

  test('cost a hit without them nothing, and one with them its round trip', async () => {
    const { cache, namespace } = await open()
    const other = (await open(namespace)).cache
    const tags = ['x', 'y']
    await cache.set('none', 1)
    await cache.set('some', 1, { tags })
    await cache.set('more', 1, { tags })
    const hit = (key: string, options = {}) => {
      return caches.sent(async () => expect(await other.getOrLoad(key, () => 2, options)).toBe(1))
    }
    expect(await hit('none')).toEqual({ get: 1 })
    expect(await hit('some', { tags }), 'of which the tags are said').toEqual({ mget: 1 })
    expect(await hit('more'), 'of which the tags are not known').toEqual({ get: 1, mget: 1 })
    expect(await hit('more'), 'of which the tags are known').toEqual({ mget: 1 })
    expect(await hit('none')).toEqual({ get: 1 })
    await cache.getOrLoad('both', (context) => (context.tags('z'), 1), { tags })
    expect(await hit('both', { tags }), 'of which not all tags are said').toEqual({ mget: 1, get: 1 })
    expect(await hit('both', { tags }), 'of which more is known than is said').toEqual({ mget: 1 })
  })

  test('cost a load one command more, and an invalidation one, however many values there are', async () => {
    const { cache } = await open()
    const load = (key: string): Promise<unknown> => cache.getOrLoad(key, () => 1, { tags: ['x'] })
    expect(await caches.sent(() => load('a'))).toEqual({ mget: 1, evalsha: 3 })
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => load(`k${index}`)))
    expect(await caches.sent(() => cache.invalidateTags(['x', 'y', 'z']))).toEqual({ evalsha: 1 })
    expect(await cache.peek('k999')).toEqual({ state: 'missing' })
  })

  test('of the first loads of a namespace, side by side, void none of them', async () => {
    const { cache } = await open()
    let finish!: (value: string) => void
    const refused = vi.fn()
    cache.on('refused', refused)
    const began = new Promise((resolve) => cache.on('load', resolve))
    const first = cache.getOrLoad('a', () => new Promise<string>((resolve) => (finish = resolve)), { tags: ['x'] })
    await began
    expect(await cache.getOrLoad('b', () => 'second', { tags: ['x'] })).toBe('second')
    finish('first')
    expect(await first).toBe('first')
    expect(refused).not.toHaveBeenCalled()
  })

  test('that a loader of a new namespace names at its end do not void its load, though a load within it had them first', async () => {
    const { cache } = await open()
    const loads: string[] = []
    const page = await cache.getOrLoad('page', async (context) => {
      loads.push('page')
      await cache.getOrLoad('product', () => 'product', { tags: ['x'] })
      context.tags('x')
      return 'page'
    })
    expect({ page, loads }).toEqual({ page: 'page', loads: ['page'] })
    expect(await cache.peek('page')).toMatchObject({ state: 'fresh' })
  })

  test('void what has them when they are forgotten', async () => {
    const { cache, client, namespace } = await open()
    await cache.set('a', 1, { tags: ['x', 'y'] })
    await cache.set('b', 1, { tags: ['y'] })
    await client.del(`{${namespace}:}:x`)
    expect(await cache.peek('a')).toEqual({ state: 'missing' })
    expect(await cache.peek('b')).toMatchObject({ state: 'fresh' })
    await cache.getOrLoad('a', () => 2, { tags: ['x', 'y'] })
    expect(await cache.peek('a')).toMatchObject({ value: 2 })
  })

  test('are invalidated although their epoch is forgotten', async () => {
    const { cache, client, namespace } = await open()
    for (let round = 0; round < 3; round++) {
      await cache.set('a', round, { tags: ['x'] })
      await client.del(`{${namespace}:}`)
      await cache.invalidateTags(['x'])
      expect(await cache.peek('a')).toEqual({ state: 'missing' })
      await client.del(`{${namespace}:}`)
      await cache.getOrLoad('a', () => round, { tags: ['x'] })
      expect(await cache.peek('a')).toMatchObject({ value: round })
    }
  })

  test('let a set be seen although their epoch is forgotten and the clock was set back', async () => {
    const { cache, client, namespace } = await open()
    await cache.set('a', 1, { tags: ['x'] })
    // As of the year 2255.
    await client.set(`{${namespace}:}:x`, '8999999999999999', 'PX', 3_600_000)
    await client.del(`{${namespace}:}`)
    await cache.set('a', 2, { tags: ['x'] })
    expect(await cache.peek('a')).toMatchObject({ value: 2 })
    await cache.invalidateTags(['x'])
    expect(await cache.peek('a')).toEqual({ state: 'missing' })
  })

  test.each(['garbage', '', 'inf', 'nan', '-1', '1e300', '9007199254740992'])(
    'are invalidated, and what has them is kept again, where somebody has written %j in place of an epoch',
    async (written) => {
      for (const [broken, then] of [
        ['', 'stored'],
        ['', 'voided'],
        [':x', 'stored'],
        [':x', 'voided'],
      ] as const) {
        const { cache, client, namespace } = await open()
        const store = async (value: number): Promise<void> => {
          await cache.getOrLoad('a', () => value, { tags: ['x'] })
          await cache.set('b', value, { tags: ['x'] })
        }
        const found = async (): Promise<unknown[]> => Promise.all([cache.peek('a'), cache.peek('b')])
        await store(1)
        await client.set(`{${namespace}:}${broken}`, written, 'PX', 3_600_000)
        if (then === 'stored') await store(2)
        await cache.invalidateTags(['x'])
        expect(await found()).toEqual([{ state: 'missing' }, { state: 'missing' }])
        await store(3)
        expect(await found()).toMatchObject([{ value: 3 }, { value: 3 }])
        await cache.invalidateTags(['x'])
        expect(await found()).toEqual([{ state: 'missing' }, { state: 'missing' }])
      }
    },
  )

  test('live as long as the values that have them, and a day after they were invalidated', async () => {
    const { cache, client, namespace } = await open()
    const tag = `{${namespace}:}:x`
    await cache.set('long', 1, { tags: ['x'], ttl: '2h', grace: '1h' })
    await cache.set('short', 1, { tags: ['x'], ttl: '1s' })
    expect(await client.pttl(tag)).toBeGreaterThanOrEqual(await client.pttl(`{${namespace}:long}`))
    await cache.invalidateTags(['x'])
    expect(await client.pttl(tag)).toBeGreaterThan(23 * 3_600_000)
    expect(await client.pttl(`{${namespace}:}`)).toBeGreaterThan(0)
    await cache.set('longer', 1, { tags: ['x'], ttl: '10d' })
    await cache.invalidateTags(['x'])
    expect(await client.pttl(tag)).toBeGreaterThan(9 * 86_400_000)
  })

  const ends = [
    { end: fill, outcome: 'a value', load: () => 'old', toFirst: 'old' },
    { end: settle, outcome: 'an error', load: () => Promise.reject(new Error('of old')), toFirst: 'of old' },
  ]

  test.each(ends.flatMap((each) => [true, false].map((soft) => ({ ...each, soft }))))(
    'are looked at again by who waited for $outcome, whose load may stand still between its last look at them and its end (soft: $soft)',
    async ({ end, load, toFirst, soft }) => {
      const { cache, port, instead, namespace } = await open()
      // Otherwise the tag is missing, and there are no soft invalidations of missing tags.
      await cache.set('b', 'v', { tags: ['x'] })
      const other = (await open(namespace)).cache
      let goOn!: () => void
      const goesOn = new Promise<void>((resolve) => (goOn = resolve))
      const standsStill = new Promise<void>((resolve) => {
        instead.evaluate = async (command, script, keys, args) => {
          if (script === end.sha1) await (resolve(), goesOn)
          return await port.evaluate(command, script, keys, args)
        }
      })
      const loading = cache.getOrLoad('a', load, { tags: ['x'] }).catch((error: Error) => error.message)
      await standsStill
      await other.invalidateTags(['x'], { soft })
      const waits = new Promise((resolve) => other.on('wait', resolve))
      const asked = other.getOrLoad('a', () => 'new', { tags: ['x'] })
      await waits
      goOn()
      expect(await asked).toBe('new')
      expect(await loading, 'who asked before').toBe(toFirst)
      expect(await other.peek('a')).toMatchObject({ value: 'new' })
    },
  )

  test('of a value that is garbage void it', async () => {
    const { cache, client, namespace } = await open()
    const key = `{${namespace}:a}`
    for (const about of ['', '[]', '[1', '{"a":1}', '[null,["x"]]', '[1,"x"]', '[1,[7]]']) {
      await cache.set('a', 'v', { tags: ['x'] })
      const bytes = (await client.getBuffer(key)) as Buffer
      const length = Buffer.alloc(4)
      length.writeUInt32BE(about.length)
      await client.set(key, Buffer.concat([bytes.subarray(0, 48), length, Buffer.from(about), Buffer.from('"v"')]))
      expect(await cache.peek('a'), `of ${about}`).toEqual({ state: 'missing' })
      expect(await cache.getOrLoad('a', () => 'new')).toBe('new')
    }
  })
})

test('in a cluster, a load goes on while the node of the tags is away, and only a value that has some is not stored', async () => {
  // Nobody takes that node for dead meanwhile: then the others would refuse, too.
  await using cluster = await startCluster({ nodeTimeout: 60_000 })
  const store = redisStore(cluster.connect())
  await using cache = createCache({ store, namespace: 'app', ttl: '1h', commandTimeout: '4s' })
  const ofTags = await cluster.masterOf('{app:}')
  const elsewhere: string[] = []
  for (let index = 0; elsewhere.length < 2; index++) {
    if ((await cluster.masterOf(`{app:k${index}}`)) !== ofTags) elsewhere.push(`k${index}`)
  }
  const [plain, tagged] = elsewhere as [string, string]
  let loads = 0
  const load = (): Promise<unknown> => cache.getOrLoad(plain, () => ++loads)
  const loadTagged = (meanwhile = async (): Promise<void> => {}): Promise<unknown> => {
    return cache.getOrLoad(tagged, async () => (await meanwhile(), ++loads), { tags: ['x'] })
  }
  expect(await loadTagged()).toBe(1)
  expect(await loadTagged(), 'it can be stored').toBe(1)
  await cache.invalidate(tagged)

  await ofTags.freeze()
  expect(await load()).toBe(2)
  expect(await load()).toBe(2)
  expect(await loadTagged(), 'its tags cannot be marked').toBe(3)
  expect(await cache.peek(tagged)).toEqual({ state: 'missing' })
  // They can by then, but nobody knows what was invalidated since that load began: so it is made again.
  const back = async (): Promise<void> => {
    ofTags.thaw()
    await ofTags.client.ping()
  }
  expect(await loadTagged(back)).toBe(5)
  expect(await loadTagged()).toBe(5)
})
