/**
 * Recipes for a lock that are often copied, each failing as it must; and herdless, with the same work. It prints
 *
 *   SETNX, then EXPIRE: whoever dies in between locks for ever, ttl -1
 *   DEL without compare: 2 at once, for the first gave back what the second had
 *   no renewal: 2 at once, for the work took longer than the lock
 *   herdless: 1 at once
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { redisLock } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const lock = redisLock(redis, { ttl: 300, wait: '5s' })

/** How many work at once. */
let inside = 0
let most = 0
const work = async () => ((most = Math.max(most, ++inside)), await sleep(450), inside--)
const mostAtOnce = () => [most, (most = 0)][0]

/** The recipe: SET NX PX, work, give back. @param {string} key @param {string} token @param {() => Promise<any>} run */
async function take(key, token, run) {
  while (!(await redis.set(key, token, 'PX', 300, 'NX'))) await sleep(5)
  await run()
}

await redis.setnx('example-8', 'mine') // and here the process dies, before its EXPIRE
console.log('SETNX, then EXPIRE: whoever dies in between locks for ever, ttl', await redis.ttl('example-8'))
const free = () => redis.del('example-8')
await free()
const first = take('example-8', '1', () => sleep(450).then(free)) // its lock lasts 300 ms, and then the second has it
await sleep(20)
await Promise.all([first, ...['2', '3'].map((token) => take('example-8', token, work))])
console.log(`DEL without compare: ${mostAtOnce()} at once, for the first gave back what the second had`)
await Promise.all(['1', '2'].map((token) => take('no-renewal', token, work))) // each lets its lock expire
console.log(`no renewal: ${mostAtOnce()} at once, for the work took longer than the lock`)
await Promise.all([1, 2, 3].map(() => lock.run('example-8', work)))
console.log(`herdless: ${mostAtOnce()} at once`)
await Promise.all([lock.close(), redis.quit()])
