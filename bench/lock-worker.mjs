/** One process that wants a lock, in one of several ways. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { redisLock } from 'herdless/redis'
import { Redis } from 'ioredis'
import { Mutex } from 'redis-semaphore'

/** @typedef {{ time: number, asked: number, entered: number, left: number }} Turn moments of the machine, in milliseconds */

const client = new Redis(process.argv[2] ?? '')
await once(client, 'ready')
const locks = {
  fair: redisLock(client, { fair: true, wait: '10m' }),
  any: redisLock(client, { wait: '10m' }),
  short: redisLock(client, { ttl: '2s', wait: '10m' }),
  stealing: redisLock(client, { stealFromDead: true, wait: '10m' }),
}
await locks.any.run(`warm ${process.pid}`, () => {})
const compareAndDelete = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`

/** @type {Record<string, (name: string, work: () => Promise<void>) => Promise<void>>} */
const ways = {
  'herdless, fair': (name, work) => locks.fair.run(name, work),
  herdless: (name, work) => locks.any.run(name, work),
  'herdless, 2 s': (name, work) => locks.short.run(name, work),
  'herdless, stealing': (name, work) => locks.stealing.run(name, work),

  async 'SET NX PX, polling every 10 ms'(name, work) {
    const token = randomBytes(12).toString('hex')
    while ((await client.set(`recipe:${name}`, token, 'PX', 60_000, 'NX')) === null) await sleep(10)
    await work()
    await client.eval(compareAndDelete, 1, `recipe:${name}`, token)
  },

  async 'redis-semaphore'(name, work) {
    const mutex = new Mutex(client, name, { lockTimeout: 60_000, acquireTimeout: 600_000 })
    await mutex.acquire()
    await work()
    await mutex.release()
  },
}

const tell = (/** @type {unknown} */ message) => process.send?.(message)
const now = () => Number(process.hrtime.bigint()) / 1e6
tell('ready')

process.on('message', async (order) => {
  const { way, name, callers, times, hold } = /** @type {import('./lock.mjs').Order} */ (order)
  const run = ways[way]
  if (run === undefined) throw new TypeError(`There is no way ${way}`)
  /** @type {Turn[]} */
  const turns = []
  const call = async () => {
    for (let time = 0; time < times; time++) {
      const asked = now()
      await run(name, async () => {
        const entered = now()
        if (hold > 60_000) tell('holding')
        await sleep(hold)
        turns.push({ time, asked, entered, left: now() })
      })
    }
  }
  const calls = Array.from({ length: callers }, call)
  tell('asked')
  await Promise.all(calls)
  tell(turns)
})
