/**
 * What the core must do on any runtime: prints the outcomes of some calls, in memory and on Redis with both clients, and
 * ends by itself once all is closed.
 *
 * <runtime> smoke.mjs <redis url>
 */
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { CacheError, createCache, locked, memoryLock } from 'herdless'
import { redisLock, redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'
import { createClient } from 'redis'

const [url = ''] = process.argv.slice(2)

/** @param {import('herdless').Cache} cache @param {import('herdless').Cache} other of another process, as it were */
async function outcomes(cache, other = cache) {
  let loads = 0
  const load = async () => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    return { load: ++loads, at: new Date(0) }
  }
  const herd = await Promise.all([cache, other, cache, other].map((each) => each.getOrLoad('k', load)))
  const hit = await cache.getOrLoad('k', load)
  const many = await cache.getOrLoadMany(['k', 'l'], (keys) => keys.map((key) => key))
  await cache.invalidateTags(['none'])
  await other.invalidate('k')
  const anew = await cache.getOrLoad('k', load)
  const refreshed = await cache.refresh('k', load)
  const failed = await cache.getOrLoad('e', () => Promise.reject(new RangeError('away'))).catch(String)
  const late = () => new Promise(() => {})
  const timedOut = await cache
    .getOrLoad('t', late, { hardTimeout: 50 })
    .catch((error) => [error instanceof CacheError, error.code])
  const { state } = await cache.peek('k')
  await Promise.all([cache.close(), other.close()])
  return { herd, hit, many, anew, refreshed, failed, timedOut, state }
}

/** @param {import('herdless').Lock} lock */
async function ofLock(lock) {
  const order = []
  const work = (name) => lock.run('job', async ({ fence }) => order.push(name, typeof fence))
  await Promise.all([work('one'), work('two')])
  const refused = await lock.run('job', () => lock.tryAcquire('job'))
  await lock.close()
  return { order, refused }
}

/** What becomes of a command that is never answered, while others are, by the clock of the machine. */
async function unanswered() {
  const get = async (key) => (key.endsWith('hung') ? new Promise(() => {}) : null)
  const cache = createCache({ store: locked({ get, set: async () => {} }, memoryLock()), commandTimeout: 100 })
  let outcome = 'none'
  cache.peek('hung').catch(({ code, reason }) => (outcome = `${code}, ${reason}`))
  for (let reads = 0; reads < 1_000 && outcome === 'none'; reads++) {
    await cache.peek('answered')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await cache.close()
  return outcome
}

const said = {
  unanswered: await unanswered(),
  memory: await outcomes(createCache()),
  memoryLock: await ofLock(memoryLock()),
}
if (url !== '') {
  for (const [name, open] of Object.entries({
    ioredis: async () => new Redis(url),
    'node-redis': async () => createClient({ url }).connect(),
  })) {
    const [client, second] = [await open(), await open()]
    for (const near of [undefined, {}]) {
      const options = { namespace: randomUUID(), near }
      const [one, two] = [client, second].map((each) => createCache({ ...options, store: redisStore(each) }))
      said[`${name}, ${near ? 'with' : 'without'} near`] = await outcomes(one, two)
    }
    said[`lock, ${name}`] = await ofLock(redisLock(client, { prefix: randomUUID() }))
    for (const each of [client, second]) await each.quit()
  }
}
console.log(JSON.stringify(said))
