/**
 * A worker stands still for longer than its lock lasts, and goes on as if nothing had happened. The database knows better,
 * because it compares fences. It prints
 *
 *   the first worker has the lock, reads the order, and stands still
 *   the second worker has the lock, and ships the order: 1 row
 *   the first worker goes on, and ships the order: 0 rows
 *   its lease was over: true
 *   the order was shipped by the second worker
 */
import { PGlite } from '@electric-sql/pglite'
import { redisLock } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const db = new PGlite()
await db.exec(`create table orders (id int, shipped_by text, fence bigint default 0); insert into orders values (1)`)

/** @param {string} who @param {bigint | null} fence */
async function ship(who, fence) {
  const update = 'update orders set shipped_by = $1, fence = $2 where id = 1 and fence <= $2'
  const { affectedRows } = await db.query(update, [who, String(fence)])
  return affectedRows === 1 ? '1 row' : `${affectedRows} rows`
}

const [first, second] = [redisLock(redis, { ttl: 100 }), redisLock(redis, { ttl: '10s' })]
const lease = await first.acquire('order:1')
console.log('the first worker has the lock, reads the order, and stands still')
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
await second.run('order:1', async ({ fence }) => {
  console.log('the second worker has the lock, and ships the order:', await ship('the second worker', fence))
})
console.log('the first worker goes on, and ships the order:', await ship('the first worker', lease.fence))
console.log('its lease was over:', !lease.isValid())
const { rows } = await db.query('select shipped_by from orders')
console.log('the order was shipped by', Object.values(rows[0] ?? {})[0])
await Promise.all([first.close(), second.close(), db.close()])
redis.disconnect()
