/**
 * What a hit of the near tier costs against `await lru.get()` of the same lru-cache, in the same process and rounds that are
 * interleaved; and what a change costs where others keep copies, against one where nobody does. Above 1, or below, as said.
 *
 * node bench/near.mjs [--rounds 21] [--calls 250000]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { openRedis } from '../tools/servers/start-redis.mjs'
import { median, spread } from './median.mjs'

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '21' }, calls: { type: 'string', default: '250000' } },
})
const [rounds, calls] = [Number(options.rounds), Number(options.calls)]
const server = await openRedis()
/** @type {Redis[]} */
const clients = []
/** @param {string} namespace @param {import('herdless').NearOptions} [near] */
const open = (namespace, near) => {
  const client = new Redis(server.url)
  clients.push(client)
  return createCache({ store: redisStore(client), namespace, ttl: '1h', near })
}
const value = { id: 7, name: 'a product', tags: ['one', 'two'], text: 'x'.repeat(140) }
const never = () => {
  throw new Error('a hit must not load')
}
const keys = Array.from({ length: 1_000 }, (_, index) => `product:${index}`)

/** @type {LRUCache<string, object>} */
const lru = new LRUCache({ max: 10_000 })
const modes = /** @type {const} */ (['frozen', 'shared', 'cloned'])
/** @type {Record<string, (key: string) => unknown>} */
const ways = { lru: (key) => lru.get(key) }
const caches = modes.map((values) => open('bench', { ttl: '1h', values }))
for (const [index, cache] of caches.entries()) {
  ways[/** @type {string} */ (modes[index])] = (key) => cache.getOrLoad(key, never)
}
for (const key of keys) {
  lru.set(key, structuredClone(value))
  await caches[0]?.set(key, value)
}
for (const cache of caches) {
  for (const key of keys) {
    const before = cache.stats().nearHits
    while (cache.stats().nearHits === before) await cache.getOrLoad(key, never)
  }
}

/** Answers a second, one awaited after the other. @param {(key: string) => unknown} way @param {number} calls */
async function rate(way, calls) {
  const started = performance.now()
  for (let call = 0; call < calls; call++) await way(/** @type {string} */ (keys[call % keys.length]))
  const took = performance.now() - started
  // The loop turns, as it must for copies to be served: what Redis has to say is heard.
  await sleep(120)
  return calls / (took / 1_000)
}

/** @type {Record<string, number[]>} */
const rates = Object.fromEntries(Object.keys(ways).map((name) => [name, []]))
// Not longer than copies may be served without a sign from Redis.
const callsOf = (/** @type {string} */ name) => (name === 'cloned' ? calls / 10 : calls)
for (const [name, way] of Object.entries(ways)) await rate(way, callsOf(name))
for (let round = 0; round < rounds; round++) {
  for (const [name, way] of Object.entries(ways)) rates[name]?.push(await rate(way, callsOf(name)))
}
const floor = rates['lru'] ?? []
console.log(`${process.version}, ${rounds} rounds of ${calls} calls, one after the other`)
console.table(
  Object.entries(rates).map(([name, each]) => ({
    'awaited hits': name === 'lru' ? 'await lru.get()' : `near, ${name}`,
    'a second': Math.round(median(each)),
    ratio: Number((median(each) / median(floor)).toFixed(2)),
    'ratio, min to max of rounds': spread(each.map((one, round) => one / (floor[round] ?? 1))),
  })),
)
for (const cache of caches) await cache.close()

const writer = open('changes')
const rows = []
/** @type {import('herdless').Cache[]} */
const holders = []
let alone = 0
for (const count of [0, 1, 4, 16]) {
  while (holders.length < count) {
    const holder = open('changes', {})
    holders.push(holder)
    await holder.getOrLoad('k', () => 1)
    while (holder.stats().nearHits === 0) await holder.getOrLoad('k', () => 1)
  }
  const times = []
  for (let change = 0; change < 300; change++) {
    // They keep copies only as long as they ask.
    await Promise.all(holders.map((holder) => holder.getOrLoad('k', () => 1)))
    const started = performance.now()
    await writer.invalidate('k')
    times.push(performance.now() - started)
  }
  const ms = median(times)
  alone ||= ms
  rows.push({
    'caches that keep copies': count,
    'ms a change': Number(ms.toFixed(2)),
    ratio: Number((ms / alone).toFixed(1)),
  })
}
console.table(rows)
for (const cache of [writer, ...holders]) await cache.close()
for (const client of clients) client.disconnect()
await server.stop()
