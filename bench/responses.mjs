/**
 * 500 requests at once for a page that nobody has yet, of a handler that takes 300 ms: how long it takes until the last is
 * answered, in handler times, and how often the handler runs; in one process and in four. The same for an answer that may not
 * be stored, and the wave of requests that follows it; and without a cache, which is what the requests themselves take here.
 *
 * node bench/responses.mjs [--rounds 5] [--requests 500] [--handler 300]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openRedis } from '../tools/servers/start-redis.mjs'
import { median, spread } from './median.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '500' },
    handler: { type: 'string', default: '300' },
  },
})
const redis = await openRedis()
const worker = fileURLToPath(new URL('responses-worker.mjs', import.meta.url))
const agent = new Agent({ keepAlive: true, maxSockets: Number(options.requests) })

/** @returns {Promise<{ child: import('node:child_process').ChildProcess, port: number }>} */
async function open() {
  const child = fork(worker, [redis.url, options.handler])
  const [{ port }] = await once(child, 'message')
  return { child, port }
}

/** @param {number} port @param {string} path @returns {Promise<void>} */
function ask(port, path) {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent, headers: { host: 'shop.example' } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`The answer is ${response.statusCode}`))
      response.resume().on('end', resolve)
    }).on('error', reject)
  })
}

/**
 * All of them at once, from one who asks.
 * @param {readonly { child: import('node:child_process').ChildProcess, port: number }[]} processes
 * @param {string} path
 */
async function wave(processes, path) {
  const began = performance.now()
  const asked = Array.from({ length: Number(options.requests) }, (_, index) => {
    return ask(/** @type {{ port: number }} */ (processes[index % processes.length]).port, path)
  })
  await Promise.all(asked)
  const took = (performance.now() - began) / Number(options.handler)
  const runs = await Promise.all(
    processes.map(async ({ child }) => {
      child.send('runs')
      const [count] = await once(child, 'message')
      return Number(count)
    }),
  )
  return { took, runs: runs.reduce((sum, each) => sum + each, 0) }
}

const four = await Promise.all(Array.from({ length: 4 }, open))
/** @type {Record<string, { took: number, runs: number }[]>} */
const rows = {}
for (let round = -1; round < Number(options.rounds); round++) {
  for (const [name, processes] of /** @type {const} */ ([
    ['one process', four.slice(0, 1)],
    ['four processes', four],
  ])) {
    const path = `${round}-${processes.length}`
    const results = {
      [`no cache, ${name}`]: await wave(processes, `/bare/${path}`),
      [`cacheable, ${name}`]: await wave(processes, `/public/${path}`),
      [`private, ${name}`]: await wave(processes, `/private/${path}`),
      [`private, ${name}, next wave`]: await wave(processes, `/private/${path}`),
    }
    // The first is for the just-in-time compiler and for the connections.
    if (round >= 0) for (const [row, result] of Object.entries(results)) (rows[row] ??= []).push(result)
  }
}
console.log(`${process.version}, ${options.rounds} rounds, ${options.requests} requests, handler ${options.handler} ms`)
console.table(
  Object.entries(rows).map(([name, results]) => ({
    requests: name,
    'last answer ÷ handler': Number(median(results.map(({ took }) => took)).toFixed(2)),
    'min to max of rounds': spread(results.map(({ took }) => took)),
    'runs of the handler': median(results.map(({ runs }) => runs)),
  })),
)
for (const { child } of four) child.disconnect()
agent.destroy()
await redis.stop()
