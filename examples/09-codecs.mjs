/**
 * Values that are compressed and then encrypted on their way to Redis, and a rotation of the key. It prints
 *
 *   the report of 66000 characters is less than 1000 bytes in Redis, and nothing of it can be read there: true
 *   read after the rotation, with both keys: 66000 characters
 *   read when the old key is gone: loaded again
 *   Cannot read a stored value: there is no key with its id, "2025"
 */
import { randomBytes } from 'node:crypto'
import { createCache } from 'herdless'
import { compressed, encrypted, v8Codec } from 'herdless/codecs'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const old = { id: '2025', key: randomBytes(32) } // in production: from where secrets are kept
const young = { id: '2026', key: randomBytes(32) }

/** A process that has these keys. @param {import('herdless/codecs').EncryptionKey[]} keys */
function processWith(...keys) {
  const codec = encrypted(compressed(v8Codec()), { keys, context: 'example-9' })
  return createCache({ store: redisStore(redis), namespace: 'example-9', ttl: '10s', codec })
}

const [before, during, after] = [processWith(old), processWith(young, old), processWith(young)]
await before.set('report', 'All work and no play. '.repeat(3_000))
const bytes = await redis.getBuffer('{example-9:report}')
const hidden = bytes !== null && bytes.length < 1_000 && !bytes.includes('work')
const promise = 'is less than 1000 bytes in Redis, and nothing of it can be read there:'
console.log('the report of 66000 characters', promise, hidden)

const read = await during.getOrLoad('report', () => 'loaded again')
console.log('read after the rotation, with both keys: %d characters', read.length)

const reasons = new Set()
after.on('garbage', ({ cause }) => reasons.add(/** @type {Error} */ (cause).message))
console.log('read when the old key is gone:', await after.getOrLoad('report', () => 'loaded again'))
console.log(...reasons)
await Promise.all([before, during, after].map((cache) => cache.close()))
redis.disconnect()
