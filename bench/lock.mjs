/**
 * A lock that many want: how long they all take against the time that they hold it, how soon it passes from one to the
 * next, what that costs in commands, and how much longer the unluckiest waits than the others. A lock that nobody else
 * wants, against a raw SET NX PX and EVALSHA. And a holder that is killed.
 *
 * node bench/lock.mjs [--rounds 5] [--processes 4] [--waiters 50] [--times 4] [--hold 5]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { redisLock } from 'herdless/redis'
import { Redis } from 'ioredis'
import { openRedis } from '../tools/servers/start-redis.mjs'
import { median, spread } from './median.mjs'

/**
 * @typedef {import('./lock-worker.mjs').Turn} Turn
 * @typedef {{ way: string, name: string, callers: number, times: number, hold: number }} Order
 */

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    processes: { type: 'string', default: '4' },
    waiters: { type: 'string', default: '50' },
    times: { type: 'string', default: '4' },
    hold: { type: 'string', default: '5' },
  },
})
const rounds = Number(options.rounds)
const hold = Number(options.hold)
const waiters = Number(options.waiters)
const times = Number(options.times)
const server = await openRedis()
const client = new Redis(server.url)
const worker = fileURLToPath(new URL('lock-worker.mjs', import.meta.url))

console.log(
  `${process.version}, ${waiters} waiters in ${options.processes} processes, each holds it ${times} times for ${hold} ms`,
)
console.table(await contended())
console.table(await uncontended())
console.table(await killed())
client.disconnect()
await server.stop()
process.exit()

async function started() {
  const child = fork(worker, [server.url])
  await heard(child, 'ready')
  return child
}

async function contended() {
  const processes = await Promise.all(Array.from({ length: Number(options.processes) }, started))
  const contend = async (/** @type {string} */ way, /** @type {number} */ round) => {
    const reports = processes.map((child) => heard(child, Array.isArray))
    const callers = waiters / processes.length
    for (const child of processes) child.send({ way, name: `${way}:${round}`, callers, times, hold })
    return /** @type {Turn[]} */ ((await Promise.all(reports)).flat())
  }
  const rows = []
  for (const way of ['herdless, fair', 'herdless', 'SET NX PX, polling every 10 ms', 'redis-semaphore']) {
    // The first round is for the just-in-time compiler, and for counting, which the server takes time for.
    const commands = await counted(() => contend(way, -1))
    /** @type {ReturnType<typeof figuresOf>[]} */
    const figures = []
    for (let round = 0; round < rounds; round++) figures.push(figuresOf(await contend(way, round)))
    const middle = (/** @type {keyof ReturnType<typeof figuresOf>} */ name) => median(figures.map((each) => each[name]))
    rows.push({
      way,
      'total ÷ ideal': `${middle('total').toFixed(2)} (${spread(figures.map(({ total }) => total))})`,
      'hand-off p50, ms': middle('p50').toFixed(2),
      'hand-off p99, ms': middle('p99').toFixed(2),
      'commands per hand-off': (commands / (waiters * times)).toFixed(1),
      'longest ÷ mean wait': middle('longest').toFixed(2),
      'out of order': middle('overtaken'),
    })
  }
  for (const child of processes) child.kill()
  return rows
}

/** @param {Turn[]} all */
function figuresOf(all) {
  const turns = all.toSorted((a, b) => a.entered - b.entered)
  const held = turns.map(({ entered, left }) => left - entered)
  const handOffs = turns.slice(1).map(({ entered }, index) => entered - (turns[index]?.left ?? 0))
  const sorted = handOffs.toSorted((a, b) => a - b)
  // At first all ask at once; from then on, if they come again, each has the others before it.
  const waits = turns.filter(({ time }) => time > 0 || times === 1).map(({ asked, entered }) => entered - asked)
  const first = Math.min(...turns.map(({ asked }) => asked))
  const sum = (/** @type {number[]} */ numbers) => numbers.reduce((all, each) => all + each, 0)
  return {
    total: ((turns.at(-1)?.left ?? 0) - first) / sum(held),
    p50: sorted[Math.floor(sorted.length / 2)] ?? NaN,
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? NaN,
    longest: Math.max(...waits) / (sum(waits) / waits.length),
    overtaken: turns.filter(({ asked }, index) => index > 0 && asked < (turns[index - 1]?.asked ?? 0) - 1).length,
  }
}

/** One after the other, in turns, so that both see the same machine. */
async function uncontended() {
  const lock = redisLock(client)
  const sha = String(
    await client.script(
      'LOAD',
      `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`,
    ),
  )
  const raw = async () => {
    const token = Math.random().toString(36)
    await client.set('raw', token, 'PX', 60_000, 'NX')
    await client.evalsha(sha, 1, 'raw', token)
  }
  const ours = async () => {
    const lease = await lock.acquire('job')
    await lease.release()
  }
  const many = async (/** @type {() => Promise<void>} */ once) => {
    const from = performance.now()
    for (let time = 0; time < 2_000; time++) await once()
    return performance.now() - from
  }
  const ratios = []
  for (let round = -2; round < 2 * rounds; round++) {
    const floor = await many(raw)
    const time = await many(ours)
    if (round >= 0) ratios.push(floor / time)
  }
  await lock.close()
  return [
    { 'uncontended, of the speed of raw SET NX PX + EVALSHA': `${median(ratios).toFixed(2)} (${spread(ratios)})` },
  ]
}

/** When the next one has it: after the kill where it may be stolen, else after the end of the ttl. */
async function killed() {
  const after = async (/** @type {string} */ way) => {
    const times = []
    for (let round = 0; round < 2 * rounds; round++) {
      const [holder, next] = await Promise.all([started(), started()])
      const name = `killed:${way}:${round}`
      holder.send({ way, name, callers: 1, times: 1, hold: 100_000 })
      await heard(holder, 'holding')
      const report = heard(next, Array.isArray)
      next.send({ way, name, callers: 1, times: 1, hold: 0 })
      await heard(next, 'asked')
      holder.kill('SIGKILL')
      const left = way.includes('stealing') ? 0 : await client.pttl(`lock:${name}`)
      const due = Number(process.hrtime.bigint()) / 1e6 + left
      const [turn] = /** @type {Turn[]} */ (await report)
      times.push(Math.round((turn?.entered ?? NaN) - due))
      next.kill()
    }
    return `${median(times)} (${Math.min(...times)} – ${Math.max(...times)})`
  }
  return [
    {
      'stealFromDead, ttl 60 s: the next has it so many ms after the kill': await after('herdless, stealing'),
      'without, ttl 2 s: so many ms after the end of the ttl': await after('herdless, 2 s'),
    },
  ]
}

/**
 * How many commands clients send meanwhile; what scripts do inside the server is not counted.
 * @param {() => Promise<unknown>} run
 */
async function counted(run) {
  // Nothing else connects: ioredis fails if a command comes by while it turns to MONITOR.
  const monitor = await new Redis(server.url, { lazyConnect: true }).monitor()
  // A command whose echo in MONITOR tells that all before it have been counted.
  const marker = 'all until here'
  let sent = 0
  monitor.on('monitor', (_time, args, source) => {
    if (args[1] === marker) monitor.emit(marker)
    else if (source !== 'lua') sent++
  })
  await run()
  const marked = once(monitor, marker)
  await client.echo(marker)
  await marked
  monitor.disconnect()
  return sent
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {string | ((message: unknown) => boolean)} wanted
 * @returns {Promise<unknown>}
 */
async function heard(child, wanted) {
  for (;;) {
    const [message] = await once(child, 'message')
    if (typeof wanted === 'string' ? message === wanted : wanted(message)) return message
  }
}
