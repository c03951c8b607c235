import { Redis } from 'ioredis'
import { perSecond } from './line.mjs'

const release = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`

/** A lock that no other caller wants. @type {import('./line.mjs').Line} */
export const uncontended = {
  title: 'A lock that no other caller wants, taken and released',
  unit: 'a second',
  better: 'more',
  floor: 'SET NX PX and EVALSHA',
  goals: { herdless: 0.85 },
  async open({ redis, url }) {
    const client = new Redis(url)
    const lock = redis.redisLock(client)
    const sha = String(await client.script('LOAD', release))
    return {
      ways: {
        'SET NX PX and EVALSHA': () =>
          perSecond(1_000, async () => {
            const token = Math.random().toString(36)
            await client.set('bench-lock', token, 'PX', 60_000, 'NX')
            await client.evalsha(sha, 1, 'bench-lock', token)
          }),
        herdless: () =>
          perSecond(1_000, async () => {
            const lease = await lock.acquire('bench')
            await lease.release()
          }),
      },
      close: async () => {
        await lock.close()
        client.disconnect()
      },
    }
  },
}
