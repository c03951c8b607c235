/**
 * Two processes ask for one key; the one that loads it is killed, and the other takes over. It prints
 *
 *   the other process loads the report
 *   this one waits for it, and loads nothing
 *   the other process is killed
 *   this process loads the report instead
 *   written by this process
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const isOther = process.send !== undefined
const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const cache = createCache({ store: redisStore(redis), namespace: 'example-4', leaseTtl: '10s' })

if (isOther) {
  await cache.invalidate('report') // the value of an earlier run
  await cache.getOrLoad('report', () => (process.send?.('loading'), sleep(60_000)))
} else {
  const other = fork(new URL(import.meta.url))
  await once(other, 'message')
  console.log('the other process loads the report')
  cache.on('load', () => console.log('this process loads the report instead'))
  const report = cache.getOrLoad('report', async () => 'written by this process')
  await new Promise((resolve) => cache.on('wait', resolve))
  console.log('this one waits for it, and loads nothing')
  other.kill('SIGKILL')
  console.log('the other process is killed')
  console.log(await report)
  await cache.close()
  redis.disconnect()
}
