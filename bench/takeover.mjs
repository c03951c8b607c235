/**
 * A process is killed with -9 while it loads, with a lease of 10 s: how long until another begins to load, in
 * milliseconds, and until the last waiter has its answer.
 *
 * node bench/takeover.mjs [--rounds 10] [--waiters 1]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openRedis } from '../tools/servers/start-redis.mjs'
import { median } from './median.mjs'

/** @typedef {{ loadedAt: number[], last: number, errors: number, loads: number }} Report */

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '10' }, waiters: { type: 'string', default: '1' } },
})
const loaderTime = 200
const server = await openRedis()
const worker = fileURLToPath(new URL('stampede-worker.mjs', import.meta.url))
const started = async () => {
  const child = fork(worker, [server.url])
  await once(child, 'message')
  return child
}
const waiters = await Promise.all(Array.from({ length: Number(options.waiters) }, started))

const begun = []
const answered = []
let loads = 0
let errors = 0
for (let round = 0; round < Number(options.rounds); round++) {
  const leader = await started()
  const order = { key: `takeover:${round}`, callers: 10, loaderTime, fails: false, leaseTtl: 10_000, startAt: 0 }
  leader.send({ ...order, loaderTime: 60_000 })
  const [loading] = await once(leader, 'message')
  if (loading !== 'loading') throw new Error('the leader has not begun to load')
  const reports = waiters.map((child) => reportOf(child))
  for (const child of waiters) child.send(order)
  // Anywhere in the interval at which waiters ask again.
  await sleep(300 + Math.random() * 400)
  const killedAt = Date.now()
  leader.kill('SIGKILL')
  const done = await Promise.all(reports)
  begun.push(Math.min(...done.flatMap((report) => report.loadedAt)) - killedAt)
  answered.push(Date.now() - killedAt)
  loads += done.reduce((sum, report) => sum + report.loads, 0)
  errors += done.reduce((sum, report) => sum + report.errors, 0)
}
console.log(
  `${process.version}, ${options.waiters} waiting processes, lease 10 s, loader ${loaderTime} ms, ${options.rounds} rounds`,
)
console.table([
  {
    'next load began, ms after the kill': `${median(begun)} (${Math.min(...begun)} – ${Math.max(...begun)})`,
    'last answer, ms after the kill': `${median(answered)} (${Math.min(...answered)} – ${Math.max(...answered)})`,
    'loads per round': loads / Number(options.rounds),
    errors,
  },
])
for (const child of waiters) child.send('end')
await server.stop()
process.exit()

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<Report>}
 */
function reportOf(child) {
  return new Promise((resolve) => {
    child.on('message', function heard(/** @type {any} */ message) {
      if (message === 'loading') return
      child.off('message', heard)
      resolve(message)
    })
  })
}
