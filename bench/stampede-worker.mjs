/** One process of the stampede. */
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'

const folder = process.argv[3] ?? fileURLToPath(new URL('../dist/esm', import.meta.url))
const load = (/** @type {string} */ file) => import(pathToFileURL(join(folder, file)).href)
const { createCache } = /** @type {typeof import('herdless')} */ (await load('index.js'))
const { redisStore } = /** @type {typeof import('herdless/redis')} */ (await load('redis/index.js'))
const client = new Redis(process.argv[2] ?? '')
await once(client, 'ready')
const cache = createCache({ store: redisStore(client), namespace: 'bench' })
await cache.getOrLoad(`warm:${process.pid}`, () => 1)
const tell = (/** @type {unknown} */ message) => process.send?.(message)
tell('ready')

process.on('message', async (order) => {
  if (order === 'end') {
    await cache.close()
    client.disconnect()
    process.disconnect()
    return
  }
  const { key, callers, loaderTime, fails, leaseTtl, startAt } = /** @type {Record<string, any>} */ (order)
  /** @type {number[]} */
  const loadedAt = []
  const loader = async () => {
    loadedAt.push(Date.now())
    if (loaderTime > 10_000) tell('loading')
    await sleep(loaderTime)
    if (fails) throw new Error('the source is broken')
    return { key, rows: Array.from({ length: 10 }, (_, id) => ({ id, name: `row ${id}` })) }
  }
  await sleep(Math.max(0, startAt - Date.now()))
  const started = performance.now()
  const answers = await Promise.allSettled(
    Array.from({ length: callers }, () => cache.getOrLoad(key, loader, { leaseTtl })),
  )
  const last = performance.now() - started
  const errors = answers.filter((answer) => answer.status === 'rejected').length
  tell({ last, loads: loadedAt.length, loadedAt, errors, answers: callers - errors })
})
