// No test runner: the one of Node.js needs `nextTick`.
const assert = require('node:assert/strict')
const { randomUUID } = require('node:crypto')
const { createCache } = require('herdless')
const { redisStore } = require('herdless/redis')
const { Redis } = require('ioredis')
const sinon = require('sinon')

/** @type {Record<string, () => Promise<void>>} */
const tests = {
  async 'in memory, calls settle with the defaults of Sinon, which fake everything'() {
    sinon.useFakeTimers()
    await settles(createCache())
  },

  async 'on Redis, calls settle while everything is faked by which sockets do not work'() {
    const redis = new Redis(process.env.REDIS_URL)
    const clock = sinon.useFakeTimers({ toNotFake: ['nextTick'] })
    const cache = createCache({ store: redisStore(redis), namespace: randomUUID() })
    const load = sinon.fake.returns('v')
    await cache.getOrLoad('l', load)
    clock.tick(3_600_000)
    assert.equal(await cache.getOrLoad('l', load), 'v')
    assert.equal(load.callCount, 1)
    await settles(cache)
    await redis.quit()
  },

  async 'in memory, a value ages with the time of the test'() {
    const clock = sinon.useFakeTimers()
    const cache = createCache({ ttl: '1m' })
    const load = sinon.fake.returns(42)
    await cache.getOrLoad('price', load)
    clock.tick(59_000)
    await cache.getOrLoad('price', load)
    assert.equal(load.callCount, 1)
    clock.tick(2_000)
    await cache.getOrLoad('price', load)
    assert.equal(load.callCount, 2)
    await cache.close()
  },
}

/** @param {import('herdless').Cache} cache */
async function settles(cache) {
  let loads = 0
  const load = async () => ++loads
  assert.deepEqual(await Promise.all([cache.getOrLoad('k', load), cache.getOrLoad('k', load)]), [1, 1])
  assert.equal(await cache.getOrLoad('k', load), 1)
  await cache.invalidate('k')
  assert.deepEqual(await cache.peek('k'), { state: 'missing' })
  const failing = () => Promise.reject(new Error('away'))
  await assert.rejects(() => cache.getOrLoad('e', failing), { message: 'away' })
  await cache.close()
}

async function run() {
  for (const [name, test] of Object.entries(tests)) {
    await test().finally(() => sinon.restore())
    console.log(`passed: ${name}`)
  }
}

void run()
