/**
 * How much later the first byte of an answer comes that is not stored yet, behind the cache and without it: to who has the
 * handler run, and to who waits for that, in its process and in another. And how long an event of a server is on its way. The
 * handler says its head after 20 ms. All take turns, one request at a time; without a cache once more tells how much is chance.
 *
 * node bench/first-byte.mjs [--rounds 5] [--requests 20]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openRedis } from '../tools/servers/start-redis.mjs'
import { median, spread } from './median.mjs'

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, requests: { type: 'string', default: '20' } },
})
const redis = await openRedis()
const worker = fileURLToPath(new URL('first-byte-worker.mjs', import.meta.url))
const agent = new Agent({ keepAlive: true })

/** @typedef {{ child: import('node:child_process').ChildProcess, port: number }} Process */

/** @returns {Promise<Process>} */
async function open() {
  const child = fork(worker, [redis.url])
  const [{ port }] = await once(child, 'message')
  return { child, port }
}

/** Milliseconds by the clock that all processes of this machine share. */
function now() {
  return Number(process.hrtime.bigint()) / 1e6
}

/**
 * When an answer was asked for, began and ended, and how long its events were on their way.
 * @typedef {{ asked: number, began: number, ended: number, events: number[] }} Told
 * @param {Process} process
 * @param {string} path
 * @returns {Promise<Told>}
 */
function ask({ port }, path) {
  return new Promise((resolve, reject) => {
    const asked = now()
    const request = get({ host: '127.0.0.1', port, path, agent, headers: { host: 'shop.example' } }, (response) => {
      const began = now()
      /** @type {number[]} */
      const events = []
      response.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
        const sent = /^data: (\d+)/.exec(text)?.[1]
        if (sent !== undefined) events.push(now() - Number(sent) / 1e6)
      })
      response.on('end', () => resolve({ asked, began, ended: now(), events }))
    })
    request.on('error', reject)
  })
}

/** One has the handler run, and one who comes a little later waits for it. @param {Process} process @param {string} path */
async function waited(process, path) {
  const leader = ask(here, path)
  await pause(10)
  return Promise.all([leader, ask(process, path)])
}

const [here, there] = /** @type {[Process, Process]} */ (await Promise.all([open(), open()]))
/** @type {Record<string, number[][]>} */
const rows = {}
let id = 0
for (let round = -1; round < Number(options.rounds); round++) {
  /** @param {string} row @param {number} figure */
  const note = (row, figure) => {
    const rounds = (rows[row] ??= [])
    // The first is for the just-in-time compiler and for the connections.
    if (round >= 0) (rounds[round] ??= []).push(figure)
  }
  for (let request = 0; request < Number(options.requests); request++) {
    for (const kind of ['chunked', 'json']) {
      const bare = await ask(here, `/bare/${kind}/${++id}`)
      const others = {
        'without a cache, once more': `/bare/${kind}/${++id}`,
        'has the handler run': `/${kind}/${++id}`,
      }
      for (const [who, path] of Object.entries(others)) {
        const { asked, began } = await ask(here, path)
        note(`${kind}: ${who}; later than without a cache`, began - asked - (bare.began - bare.asked))
      }
      const [first, follower] = await waited(here, `/${kind}/${++id}`)
      note(`${kind}: waits in its process; later than the one who has it run`, follower.began - first.began)
      const [leader, waiter] = await waited(there, `/${kind}/${++id}`)
      note(`${kind}: waits in another process; later than the end of that answer`, waiter.began - leader.ended)
    }
    for (const [who, path] of [
      ['without a cache', '/bare/events'],
      ['behind it', '/events'],
    ]) {
      const { events } = await ask(here, `${path}/${++id}`)
      note(`events: ${who}; from res.write to the client`, median(events))
    }
  }
}
console.log(`${process.version}, ${options.rounds} rounds of ${options.requests} requests, milliseconds`)
console.table(
  Object.entries(rows).map(([name, rounds]) => {
    const [who, what] = name.split('; ')
    const all = rounds.flat().sort((one, other) => one - other)
    return {
      who,
      what,
      median: Number(median(all).toFixed(2)),
      'min to max of rounds': spread(rounds.map(median)),
      '95 of 100': Number((all[Math.floor(all.length * 0.95)] ?? Number.NaN).toFixed(2)),
    }
  }),
)
for (const { child } of [here, there]) child.disconnect()
agent.destroy()
await redis.stop()
