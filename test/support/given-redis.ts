import type { TestProject } from 'vitest/node'
import { openRedis } from '../../tools/servers/start-redis.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * A Redis for tests that only talk to one: `inject('redisUrl')`. They share it, so each keeps to keys of its own
     * and flushes nothing.
     */
    redisUrl: string
  }
}

/** Gives one Redis to the tests of a project: the one that REDIS_URL names, or one that ends with the run. */
export default async function giveRedis(project: TestProject): Promise<() => Promise<void>> {
  const { url, stop } = await openRedis()
  project.provide('redisUrl', url)
  return stop
}
