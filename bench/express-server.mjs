/**
 * What an Express app answers a second, with Express 5 and 4: with whole responses cached in the app, by herdless and by
 * apicache, before it, and not at all; and what bare node:http does. Each answer is `res.json` of 2 kB over connections that
 * are kept alive. Each server is a process of its own, and rounds are interleaved; ratios are to `app.listen` of the same
 * Express, above 1 where a way is faster. The load generator needs a processor too: where that is
 * busy, the processor time of an answer is the fairer figure.
 *
 * node bench/express-server.mjs [--rounds 7] [--seconds 2] [--connections 20]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openRedis } from '../tools/servers/start-redis.mjs'
import { median, spread } from './median.mjs'
import { installPeers, requirePeer } from './peers/packages.mjs'

await installPeers()
/** @type {typeof import('autocannon')} */
const autocannon = requirePeer('autocannon')

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '20' },
  },
})
const worker = fileURLToPath(new URL('express-server-worker.mjs', import.meta.url))

const redis = await openRedis()

/** @param {string} way @param {string} [version] */
async function open(way, version = '') {
  const child = fork(worker, [way, version, redis.url])
  const [{ port }] = await once(child, 'message')
  /** @type {Figures[]} */
  const rounds = []
  return { way, version, child, url: `http://127.0.0.1:${port}/product`, rounds }
}

/** The processor time that a server has used, in microseconds. @param {import('node:child_process').ChildProcess} child */
async function used(child) {
  child.send('processor time')
  const [{ user, system }] = await once(child, 'message')
  return user + system
}

/**
 * Each connection asks again as soon as it is answered.
 * @typedef {{ rate: number, cost: number }} Figures answers a second, and microseconds of the server's processor an answer
 * @param {Awaited<ReturnType<typeof open>>} server
 * @param {number} seconds
 * @returns {Promise<Figures>}
 */
async function measured({ url, child }, seconds) {
  const before = await used(child)
  const result = await autocannon({ url, connections: Number(options.connections), duration: seconds })
  if (result.errors > 0 || result.non2xx > 0) throw new Error(`${result.errors + result.non2xx} requests failed`)
  const answers = result['2xx']
  return { rate: answers / result.duration, cost: ((await used(child)) - before) / answers }
}

const cached = ['apicache', 'cacheResponses', 'cacheResponses in Redis'].map((way) => `app.listen, ${way}`)
const servers = [await open('node:http')]
for (const version of ['express', 'express4'])
  for (const way of ['app.listen', ...cached, 'cachedServer']) servers.push(await open(way, version))
// The first is for the just-in-time compiler: a server has been running for a while.
for (const server of servers) await measured(server, 2)
for (let round = 0; round < Number(options.rounds); round++) {
  for (const server of servers) server.rounds.push(await measured(server, Number(options.seconds)))
}

console.log(`${process.version}, ${options.rounds} rounds of ${options.seconds} s, ${options.connections} connections`)
console.table(
  servers.map(({ way, version, rounds }) => {
    const floor = servers.find((other) => other.way === 'app.listen' && other.version === version)?.rounds
    const [rates, costs] = [rounds.map(({ rate }) => rate), rounds.map(({ cost }) => cost)]
    const [floorRates = [], floorCosts = []] = [floor?.map(({ rate }) => rate), floor?.map(({ cost }) => cost)]
    return {
      express: { express: '5', express4: '4' }[version] ?? '',
      server: way,
      'answers /s': Math.round(median(rates)),
      'ratio to node:http': Number(
        (median(rates) / median(servers[0]?.rounds.map(({ rate }) => rate) ?? [])).toFixed(2),
      ),
      ratio: floor ? Number((median(rates) / median(floorRates)).toFixed(2)) : '',
      'min to max of rounds': floor ? spread(rates.map((rate, round) => rate / (floorRates[round] ?? 1))) : '',
      'µs of processor': Number(median(costs).toFixed(1)),
      'ratio ': floor ? Number((median(floorCosts) / median(costs)).toFixed(2)) : '',
      'min to max of rounds ': floor ? spread(costs.map((cost, round) => (floorCosts[round] ?? 1) / cost)) : '',
    }
  }),
)
for (const { child } of servers) child.disconnect()
await redis.stop()
