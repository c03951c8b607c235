/**
 * A load that hangs is found, and broken, without harm to any other. It prints
 *
 *   missing: There is no value: it was never stored, or has expired, or was invalidated or evicted
 *   report is being loaded by another process, and 1 waits for it
 *   broken: true, and once more: false
 *   the loader that hangs is told: LEASE_LOST
 *   the one who waited has: a new report
 *   fresh
 */
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'
const [one, other] = [new Redis(url), new Redis(url)]
const hangs = createCache({ store: redisStore(one), namespace: 'example-21' })
const works = createCache({ store: redisStore(other), namespace: 'example-21' })
await works.invalidate('report') // what an earlier run has left

const { state, because } = await works.explain('report')
console.log(`${state}: ${because.join('; ')}`)

const aborted = new Promise((resolve) => hangs.on('lost', ({ error }) => resolve(error.code)))
const begun = new Promise((resolve) => hangs.on('load', resolve))
const waiting = new Promise((resolve) => works.on('wait', resolve))
const never = hangs.getOrLoad('report', () => new Promise(() => {})).catch(() => {})
await begun
const report = works.getOrLoad('report', () => 'a new report')
await waiting

for await (const { key, token, waiting } of works.leases()) {
  console.log(`${key} is being loaded by another process, and ${waiting} waits for it`)
  console.log(`broken: ${await works.breakLease(key, token)}, and once more: ${await works.breakLease(key, token)}`)
}
console.log('the loader that hangs is told:', await aborted)
console.log('the one who waited has:', await report)
console.log((await works.explain('report')).state)
await Promise.all([never, hangs.close(), works.close()])
for (const client of [one, other]) client.disconnect()
