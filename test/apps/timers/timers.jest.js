const { randomUUID } = require('node:crypto')
const { Redis } = require('ioredis')

const kinds = { modern: {}, legacy: { legacyFakeTimers: true } }

describe.each(Object.entries(kinds))('while %s fake timers are on', (kind, config) => {
  describe.each(['before', 'after'])('of a library that was required %s that', (when) => {
    /** @type {import('herdless')} */
    let library
    /** @type {import('herdless').Cache} */
    let cache
    /** @type {Redis | undefined} */
    let redis
    let namespace

    function load() {
      library = { ...require('herdless'), ...require('herdless/redis') }
    }

    async function open(onRedis) {
      if (onRedis) {
        redis = new Redis(process.env.REDIS_URL)
        await redis.ping()
        namespace = randomUUID()
      }
      jest.resetModules()
      if (when === 'before') load()
      jest.useFakeTimers(config)
      if (when === 'after') load()
      cache = library.createCache(redis && { store: library.redisStore(redis), namespace })
    }

    afterEach(async () => {
      jest.useRealTimers()
      await cache.close()
      await redis?.quit()
      redis = undefined
    })

    test.each([
      ['in memory', false],
      ['on Redis', true],
    ])('calls of a cache %s settle', async (_, onRedis) => {
      await open(onRedis)
      let loads = 0
      const load = async () => ++loads
      expect(await Promise.all([cache.getOrLoad('k', load), cache.getOrLoad('k', load)])).toEqual([1, 1])
      expect(await cache.getOrLoad('k', load)).toBe(1)
      expect(await cache.getOrLoadMany(['k', 'l'], (keys) => keys.map(() => 7))).toEqual([1, 7])
      expect(await cache.wrap((id) => `price of ${id}`, { key: 'price' })('a')).toBe('price of a')
      await cache.set('m', 2)
      expect(await cache.peek('m')).toMatchObject({ state: 'fresh', value: 2 })
      await cache.invalidate('m')
      expect(await cache.peek('m')).toEqual({ state: 'missing' })
      await cache.invalidateTags(['t'])
      await expect(cache.getOrLoad('e', () => Promise.reject(new Error('away')))).rejects.toThrow('away')
      await cache.close()
    })

    test('on Redis, another cache waits for a load, whatever time the test has', async () => {
      await open(true)
      const other = library.createCache({ store: library.redisStore(redis), namespace })
      let finish
      const loads = new Promise((resolve) => cache.on('load', resolve))
      const leader = cache.getOrLoad('k', () => new Promise((resolve) => (finish = resolve)))
      await loads
      const waits = new Promise((resolve) => other.on('wait', resolve))
      const waiter = other.getOrLoad('k', () => 'another load')
      await waits
      jest.advanceTimersByTime(600_000)
      finish('v')
      expect(await Promise.all([leader, waiter])).toEqual(['v', 'v'])
      await other.close()
    })

    if (kind === 'modern') {
      test('in memory, a value ages with the time of the test', async () => {
        await open(false)
        const load = jest.fn(() => 'v')
        const ask = () => cache.getOrLoad('k', load, { ttl: '1m' })
        await ask()
        jest.advanceTimersByTime(59_000)
        await ask()
        expect(load).toHaveBeenCalledTimes(1)
        jest.advanceTimersByTime(2_000)
        await ask()
        expect(load).toHaveBeenCalledTimes(2)
      })
    }
  })
})
