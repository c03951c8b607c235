/** What the blocks marked `in=lock` have before they begin: a Redis, a lock on it, and another process's view of it. */
import { redisLock } from 'herdless/redis'
import { Redis } from 'ioredis'

const url = process.env['REDIS_URL'] ?? ''

export const redis = new Redis(url)
export const lock = redisLock(redis)
export const lockOfAnotherProcess = redisLock(new Redis(url))

export const sendReminders = async () => {}
