/**
 * A process in a state that needs attention; what it is warned of stands on its standard error. It is given a folder
 * with the package, and a `Scene` as JSON.
 *
 * @typedef {object} Scene
 * @property {object} [redis] the options of its client; without them its cache has no store
 * @property {object} [options] those of its caches, beside the store
 * @property {number} [caches] how many caches it has, 1 by default
 * @property {'calls' | 'blocked' | 'numbers' | 'waits'} [does] calls again and again; blocks its event loop while it
 *   loads; names numbers as ttl; or waits, in ms, as `for` says
 * @property {number} [for]
 * @property {string} [listensTo] the event that it listens to
 * @property {string} [subscribesTo] the event whose channel it subscribes to
 */
import { subscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'

const [, , folder = '', text = ''] = process.argv
const { createCache } = await import(pathToFileURL(`${folder}/index.js`).href)
const { redisStore } = await import(pathToFileURL(`${folder}/redis/index.js`).href)

/** @type {Scene} */
const scene = JSON.parse(text)
const client = scene.redis === undefined ? undefined : new Redis(scene.redis)
client?.on('error', () => {})
if (scene.subscribesTo !== undefined) subscribe(`herdless:${scene.subscribesTo}`, () => {})
const caches = Array.from({ length: scene.caches ?? 1 }, (_, number) => {
  const store = client === undefined ? {} : { store: redisStore(client) }
  const cache = createCache({ namespace: `shop${number}`, ...store, ...scene.options })
  if (scene.listensTo !== undefined) cache.on(scene.listensTo, () => {})
  return cache
})

for (const cache of caches) await live(cache)
await Promise.all(caches.map((cache) => cache.close()))
client?.disconnect()

/** @param {import('../../src/index.ts').Cache} cache */
async function live(cache) {
  switch (scene.does ?? 'calls') {
    case 'calls':
      for (let time = 0; time < 4; time++) await cache.getOrLoad(`key ${time}`, () => time)
      break
    case 'blocked':
      for (let time = 0; time < 4; time++) {
        let isFirst = true
        await cache.getOrLoad(`key ${time}`, async () => {
          if (isFirst) block(400)
          isFirst = false
          await sleep(20)
        })
      }
      break
    case 'numbers':
      await cache.getOrLoad('key', () => 1, { ttl: 60 })
      await cache.set('key', 1, { ttl: 30 })
      await cache.wrap(() => 1, { key: 'one', ttl: Date.now() })()
      break
    case 'waits':
      await cache.getOrLoad('key', () => 1)
      await sleep(scene.for ?? 0)
  }
}

/** @param {number} ms */
function block(ms) {
  const until = performance.now() + ms
  while (performance.now() < until);
}
