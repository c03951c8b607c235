/**
 * What a second-tier hit costs against a raw `GET` + `JSON.parse` on the same connection: 200 B and 10 kB, 1 to 1000
 * in flight. Rounds are interleaved; the figure is the ratio of the medians, above 1 where herdless is faster.
 *
 * node bench/hit.mjs [--rounds 7] [--ms 400] [--client ioredis]
 */
import { parseArgs } from 'node:util'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { openRedis } from '../tools/servers/start-redis.mjs'
import { median, spread } from './median.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    ms: { type: 'string', default: '400' },
    client: { type: 'string', default: 'ioredis' },
  },
})
const { Redis } = await import(options.client)
const server = await openRedis()
const client = new Redis(server.url)
const cache = createCache({ store: redisStore(client), namespace: 'bench', ttl: '1h' })

const value = (/** @type {number} */ bytes) => ({
  id: 7,
  name: 'a product',
  tags: ['one', 'two'],
  text: 'x'.repeat(bytes - 60),
})
const never = () => {
  throw new Error('a hit must not load')
}
const keys = 1_000

for (const bytes of [200, 10_000]) {
  for (let key = 0; key < keys; key++) {
    await client.set(`raw:${bytes}:${key}`, JSON.stringify(value(bytes)))
    await cache.set(`${bytes}:${key}`, value(bytes))
  }
}

/** @type {Record<string, (bytes: number, key: number) => Promise<unknown>>} */
const ways = {
  raw: async (bytes, key) => JSON.parse(/** @type {string} */ (await client.get(`raw:${bytes}:${key}`))),
  herdless: (bytes, key) => cache.getOrLoad(`${bytes}:${key}`, never),
}

/**
 * Hits per second with `inFlight` callers, each asking again as soon as it is answered.
 * @param {(bytes: number, key: number) => Promise<unknown>} way
 * @param {number} bytes
 * @param {number} inFlight
 */
async function rate(way, bytes, inFlight) {
  const end = performance.now() + Number(options.ms)
  let hits = 0
  const started = performance.now()
  await Promise.all(
    Array.from({ length: inFlight }, async (_, caller) => {
      for (let turn = caller; performance.now() < end; turn++) {
        await way(bytes, turn % keys)
        hits++
      }
    }),
  )
  return hits / ((performance.now() - started) / 1_000)
}

console.log(`${process.version}, ${options.client}, ${options.rounds} rounds of ${options.ms} ms each way`)
const rows = []
for (const bytes of [200, 10_000]) {
  for (const inFlight of [1, 8, 64, 1_000]) {
    /** @type {Record<string, number[]>} */
    const rates = { raw: [], herdless: [] }
    for (const way of Object.values(ways)) await rate(way, bytes, inFlight)
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const [name, way] of Object.entries(ways)) rates[name]?.push(await rate(way, bytes, inFlight))
    }
    const [raw = [], ours = []] = [rates['raw'], rates['herdless']]
    rows.push({
      bytes,
      'in flight': inFlight,
      'raw GET + parse /s': Math.round(median(raw)),
      'herdless /s': Math.round(median(ours)),
      ratio: Number((median(ours) / median(raw)).toFixed(2)),
      'ratio, min to max of rounds': spread(ours.map((each, round) => each / (raw[round] ?? 1))),
    })
  }
}
console.table(rows)
await cache.close()
client.disconnect()
await server.stop()
