/** One process whose callers want many keys of a source with a limit. */
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'

const [url = '', folder = '', limit = '', namespace = ''] = process.argv.slice(2)
const concurrency = Number(limit)
const load = (/** @type {string} */ file) => import(pathToFileURL(join(folder, file)).href)
const { createCache } = /** @type {typeof import('herdless')} */ (await load('index.js'))
const { redisStore } = /** @type {typeof import('herdless/redis')} */ (await load('redis/index.js'))
const client = new Redis(url)
await once(client, 'ready')
const cache = createCache({
  store: redisStore(client),
  namespace,
  source: 'bench',
  sources: { bench: { concurrency } },
})
await cache.getOrLoad(`warm:${process.pid}`, () => 1)
process.send?.('ready')

process.on('message', async (order) => {
  const { way, round, keys, processes, loaderTime, startAt } = /** @type {Record<string, any>} */ (order)
  let loads = 0
  const loader = async () => {
    loads++
    await sleep(loaderTime)
    return { id: 7, name: 'a product' }
  }

  /** This process's part of the loads, by its part of the limit: the least time that the limit allows. */
  async function part() {
    let left = keys / processes
    const line = async () => {
      while (left-- > 0) await loader()
    }
    await Promise.all(Array.from({ length: concurrency / processes }, line))
  }

  // Nobody is refused, however slow the machine is.
  const options = { ttl: 600_000, waitTimeout: 600_000 }
  const all = () =>
    Promise.all(Array.from({ length: keys }, (_, key) => cache.getOrLoad(`${round}:${key}`, loader, options)))

  await sleep(Math.max(0, startAt - Date.now()))
  const started = performance.now()
  await (way === 'ideal' ? part() : all())
  process.send?.({ last: performance.now() - started, loads })
})
