/**
 * A day in the shop: three processes at one address, a crowd, two carts, and a price that changes. It prints
 *
 *   three processes answer at one address
 *   300 visitors of 5 pages were answered by 3 processes
 *   the pages were made 1, 1, 1, 1, 1 times
 *   in Ada's cart: 2 × Wool mittens; in Bob's: nothing
 *   the mittens cost 24.00 €; somebody changes that in one process
 *   the next request in each of the three is told 19.00 €
 *   the pages were made 2, 1, 1, 1, 1 times
 *
 * With --stay the shop stays open afterwards, for a browser.
 */
import cluster from 'node:cluster'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { openRedis } from '../../tools/servers/start-redis.mjs'
import { startDatabase } from './database.mjs'

const redis = await openRedis()
const database = await startDatabase()
cluster.setupPrimary({ exec: fileURLToPath(new URL('server.mjs', import.meta.url)) })
const workers = Array.from({ length: 3 }, () => cluster.fork({ ...database.env, REDIS_URL: redis.url }))
const listening = await Promise.all(workers.map((worker) => once(worker, 'listening')))
const url = `http://127.0.0.1:${listening[0]?.[0].port}`
console.log('three processes answer at one address')

/**
 * Asks as a visitor does who comes for the first time: on a connection of its own.
 *
 * @param {string} path
 * @param {Record<string, string>} [headers]
 * @param {RequestInit} [more]
 */
async function ask(path, headers = {}, more = {}) {
  const answer = await fetch(url + path, { ...more, headers: { ...headers, connection: 'close' } })
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`)
  const text = await answer.text()
  return {
    by: answer.headers.get('x-process'),
    price: /[\d.]+ €/.exec(text)?.[0],
    list: /<li>(.*)<\/li>/.exec(text)?.[1],
  }
}

/** @param {string} name */
const visitor = (name) => ({ cookie: `visitor=${name}` })

const crowd = Array.from({ length: 300 }, (_, number) =>
  ask(`/products/${1 + (number % 5)}`, visitor(`number${number}`)),
)
const processes = new Set((await Promise.all(crowd)).map(({ by }) => by))
console.log(`300 visitors of 5 pages were answered by ${processes.size} processes`)
console.log(`the pages were made ${(await database.made()).join(', ')} times`)

for (let piece = 0; piece < 2; piece++) await ask('/cart/1', visitor('ada'), { method: 'POST' })
const [ada, bob] = await Promise.all(['ada', 'bob'].map((name) => ask('/cart', visitor(name))))
console.log(`in Ada's cart: ${ada?.list ?? 'nothing'}; in Bob's: ${bob?.list ?? 'nothing'}`)

console.log(`the mittens cost ${(await ask('/products/1')).price}; somebody changes that in one process`)
const change = { method: 'PUT', body: JSON.stringify({ cents: 1900 }) }
await ask('/products/1', { 'content-type': 'application/json' }, change)

/** @type {Map<string | null, string | undefined>} the first answer of each process */
const told = new Map()
while (told.size < workers.length) {
  const { by, price } = await ask('/products/1')
  if (!told.has(by)) told.set(by, price)
}
const prices = [...new Set(told.values())].join(' and ')
console.log(`the next request in each of the three is told ${prices}`)
console.log(`the pages were made ${(await database.made()).join(', ')} times`)

if (process.argv.includes('--stay')) {
  console.log(`the shop stays open at ${url}`)
  await new Promise(() => {})
}
const gone = workers.map((worker) => once(worker, 'exit'))
cluster.disconnect()
await Promise.all(gone)
await database.stop()
await redis.stop()
