/**
 * One cold key, four processes, 250 callers each: loads, time of the last answer against the loader's time, and what
 * the clients send to Redis. With a loader that succeeds, one that fails, and one of three times the lease ttl.
 *
 * node bench/stampede.mjs [--rounds 7] [--processes 4] [--callers 250] [--loader 200]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { openRedis } from '../tools/servers/start-redis.mjs'
import { median } from './median.mjs'

/** @typedef {{ last: number, loads: number, answers: number, errors: number }} Report */

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    processes: { type: 'string', default: '4' },
    callers: { type: 'string', default: '250' },
    loader: { type: 'string', default: '200' },
  },
})
const loaderTime = Number(options.loader)
const cases = {
  succeeds: { key: 'succeeds', fails: false, leaseTtl: 10_000 },
  fails: { key: 'fails', fails: true, leaseTtl: 10_000 },
  'three leases long': { key: 'long', fails: false, leaseTtl: Math.max(30, Math.round(loaderTime / 3)) },
}

const server = await openRedis()
// It connects with its first command: ioredis fails if a command comes by while it turns to MONITOR.
const watcher = new Redis(server.url, { lazyConnect: true })
const monitor = await watcher.monitor()
// A command whose echo in MONITOR tells that all before it have been counted.
const marker = 'the round is over'
let requests = 0
monitor.on('monitor', (_time, args, source) => {
  if (args[1] === marker) monitor.emit(marker)
  else if (source !== 'lua') requests++
})
const worker = fileURLToPath(new URL('stampede-worker.mjs', import.meta.url))
const processes = Array.from({ length: Number(options.processes) }, () => fork(worker, [server.url]))
await Promise.all(processes.map((child) => once(child, 'message')))

const rows = []
for (const [name, { key, fails, leaseTtl }] of Object.entries(cases)) {
  const ratios = []
  const sent = []
  let loads = 0
  let wrong = 0
  // The first rounds are for the just-in-time compiler: a server has been running for a while when a key expires.
  for (let round = -20; round < Number(options.rounds); round++) {
    requests = 0
    const startAt = Date.now() + 100
    const reports = processes.map((child) => once(child, 'message'))
    for (const child of processes) {
      child.send({
        key: `${key}:${round}`,
        callers: Number(options.callers),
        loaderTime: round < 0 ? 5 : loaderTime,
        fails,
        leaseTtl,
        startAt,
      })
    }
    const done = /** @type {Report[]} */ ((await Promise.all(reports)).map(([report]) => report))
    const seen = once(monitor, marker)
    await watcher.echo(marker)
    await seen
    if (round < 0) continue
    ratios.push(Math.max(...done.map((report) => report.last)) / loaderTime)
    sent.push(requests / processes.length)
    loads += done.reduce((sum, report) => sum + report.loads, 0)
    wrong += done.reduce((sum, report) => sum + (fails ? report.answers : report.errors), 0)
  }
  rows.push({
    loader: name,
    'loads per round': loads / Number(options.rounds),
    'last answer ÷ loader': Number(median(ratios).toFixed(3)),
    'min – max': `${Math.min(...ratios).toFixed(3)} – ${Math.max(...ratios).toFixed(3)}`,
    'requests per process': median(sent),
    'wrong answers': wrong,
  })
}
console.log(
  `${process.version}, ${options.processes} processes × ${options.callers} callers, loader ${loaderTime} ms, ${options.rounds} rounds`,
)
console.table(rows)
for (const child of processes) child.send('end')
watcher.disconnect()
monitor.disconnect()
await server.stop()
process.exit()
