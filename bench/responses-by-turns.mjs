/**
 * What a hit and a miss of two builds cost, by turns in the same run: the processor time of an answer of 2 kB, and its ratio, below
 * 1 where the first build is slower. Each server is a process of its own.
 *
 * node bench/responses-by-turns.mjs --old ../old/dist/esm [--new dist/esm] [--rounds 15] [--answers 4000] [--only Koa] [--what miss]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openRedis } from '../tools/servers/start-redis.mjs'
import { median } from './median.mjs'
import { installPeers, requirePeer } from './peers/packages.mjs'

await installPeers()
/** @type {typeof import('autocannon')} */
const autocannon = requirePeer('autocannon')

const { values: options } = parseArgs({
  options: {
    old: { type: 'string' },
    new: { type: 'string', default: 'dist/esm' },
    rounds: { type: 'string', default: '15' },
    answers: { type: 'string', default: '4000' },
    only: { type: 'string', default: '' },
    what: { type: 'string', default: 'hit,miss' },
  },
})
if (options.old === undefined) throw new Error('Expected --old to be the folder of another build, got nothing')
const worker = fileURLToPath(new URL('responses-by-turns-worker.mjs', import.meta.url))
const redis = await openRedis()

/** @param {string} folder @param {string} way @param {string} redisUrl */
async function open(folder, way, redisUrl) {
  const child = fork(worker, [resolve(folder), way, redisUrl])
  const [{ port }] = await once(child, 'message')
  return { child, url: `http://127.0.0.1:${port}/page` }
}

/**
 * The processor time that a server has used outside of the kernel, in microseconds: the system calls of both builds are the same,
 * and what they cost varies. @param {import('node:child_process').ChildProcess} child */
async function used(child) {
  child.send('processor time')
  const [{ user }] = await once(child, 'message')
  return user
}

let asked = 0

/**
 * The processor time of an answer, in microseconds.
 * @param {Awaited<ReturnType<typeof open>>} server @param {boolean} isHit @param {number} [amount]
 */
async function cost({ url, child }, isHit, amount = Number(options.answers)) {
  const before = await used(child)
  const setupRequest = (/** @type {import('autocannon').Request} */ request) => ({
    ...request,
    path: `/page?${asked++}`,
  })
  const result = await autocannon({ url, connections: 10, amount, requests: isHit ? [{}] : [{ setupRequest }] })
  if (result.errors > 0 || result.non2xx > 0) throw new Error(`${result.errors + result.non2xx} requests failed`)
  return ((await used(child)) - before) / result['2xx']
}

const ways = ['node:http', 'cachedServer', 'Express', 'Express, session and user', 'Koa', 'Fastify', 'Hono']
const table = []
for (const way of ways.filter((each) => options.only === '' || each === options.only)) {
  for (const what of options.what.split(',')) {
    const isHit = what === 'hit'
    const servers = [
      await open(options.old, way, isHit ? '' : redis.url),
      await open(options.new, way, isHit ? '' : redis.url),
    ]
    const amount = isHit ? Number(options.answers) : Math.ceil(Number(options.answers) / 4)
    // The first is for the just-in-time compiler: a server has been running for a while.
    for (const server of servers) await cost(server, isHit, amount * 3)
    /** @type {number[][]} */
    const costs = [[], []]
    for (let round = 0; round < Number(options.rounds); round++) {
      const order = round % 2 === 0 ? [0, 1] : [1, 0]
      for (const index of order) costs[index]?.push(await cost(/** @type {never} */ (servers[index]), isHit, amount))
    }
    const [old = [], now = []] = costs
    const ratios = old.map((each, round) => each / (now[round] ?? 1))
    table.push({
      way,
      what,
      'old µs': Number(median(old).toFixed(1)),
      'new µs': Number(median(now).toFixed(1)),
      ratio: Number(median(ratios).toFixed(3)),
    })
    for (const { child } of servers) child.disconnect()
  }
}
console.log(`${process.version}, ${options.rounds} rounds`)
console.table(table)
await redis.stop()
