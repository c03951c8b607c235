/** What the blocks marked `in=lock` have before they begin: a Redis, a lock on it, and another process's view of it. */
import { redisLock } from 'herdless/redis'
import { Redis } from 'ioredis'
import { atEnd } from './at-end.mjs'

const url = process.env['REDIS_URL'] ?? ''

export const redis = new Redis(url)
export const lock = redisLock(redis)
const redisOfAnotherProcess = new Redis(url)
export const lockOfAnotherProcess = redisLock(redisOfAnotherProcess)

atEnd(async () => {
  await Promise.all([lock.close(), lockOfAnotherProcess.close()])
  redis.disconnect()
  redisOfAnotherProcess.disconnect()
})

/** @param {{ signal?: AbortSignal }} [_options] */
export const sendReminders = async (_options) => {}
