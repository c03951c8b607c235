/**
 * A job in three processes. The one that runs it loses its lock: it is told, and stops, and another does it. It prints
 *
 *   one of them runs the job, and loses its lock
 *   it is told LEASE_LOST, and stops
 *   one of them runs the job
 *   the job is done
 *   one of them finds it done
 */
import { fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { redisLock } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const isDone = async () => (await redis.get('example-6')) === 'done'

if (process.send) {
  const lock = redisLock(redis, { ttl: '1s', wait: '30s' })
  const job = lock.run('job', async ({ signal }) => {
    if (await isDone()) return console.log('one of them finds it done')
    await loseLock()
    await sleep(1_500, undefined, { signal })
    await redis.set('example-6', 'done')
    console.log('the job is done')
  })
  await job.catch((error) => console.log(`it is told ${error.cause.code}, and stops`))
  await lock.close()
} else {
  await redis.del('example-6') // from an earlier run
  for (let number = 0; number < 3; number++) fork(new URL(import.meta.url))
}
redis.disconnect()

async function loseLock() {
  if (!(await redis.set('example-6', 'lost', 'NX'))) return console.log('one of them runs the job')
  while ((await redis.zcard('{lock:job}:queue')) < 2) await sleep(10) // until the other two wait
  console.log('one of them runs the job, and loses its lock')
  await redis.del('lock:job')
}
