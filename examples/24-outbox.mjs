/**
 * A process is killed between its commit and its invalidation. The outbox has the change, and a relay applies it. It prints
 *
 *   the writer has committed 12, and is killed: the cache has 10
 *   the relay has applied what the writer could not: the cache has 12
 */
import { fork } from 'node:child_process'
import { collectChanges, createCache } from 'herdless'
import { redisLock, redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'
import pg from 'pg'
import { startDatabase } from './shop/database.mjs'

const database = process.env['PGHOST'] ? null : await startDatabase()
Object.assign(process.env, database?.env)
const db = new pg.Pool({ max: 1 })
if (process.send) {
  await db.query(`begin; update price set euro = 12; insert into outbox (tags) values ('{price}'); commit`)
  process.kill(process.pid, 'SIGKILL') // so that the invalidation is never reached
}
await db.query('drop table if exists price, outbox; create table price as select 10 as euro')
await db.query('create table outbox (id bigserial, tags text[])')
const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const [cache, lock] = [createCache({ store: redisStore(redis), namespace: 'example-24', ttl: '1h' }), redisLock(redis)]
await cache.invalidateTags(['price']) // the value of an earlier run
const load = async () => (await db.query('select euro from price')).rows[0].euro
const show = async () => `the cache has ${await cache.getOrLoad('price', load, { tags: ['price'] })}`
await show()
await new Promise((resolve) => fork(new URL(import.meta.url)).on('exit', resolve))
console.log(`the writer has committed 12, and is killed: ${await show()}`)
await lock.run('outbox', async () => {
  const changes = collectChanges()
  const { rows } = await db.query('select id, tags from outbox')
  for (const { tags } of rows) changes.invalidateTags(cache, tags)
  await changes.apply() // a relay that dies before the next line applies them again
  await db.query('delete from outbox where id = any($1)', [rows.map(({ id }) => id)])
})
console.log(`the relay has applied what the writer could not: ${await show()}`)
await Promise.all([lock.close(), cache.close(), db.end()])
await Promise.all([redis.quit(), database?.stop()])
