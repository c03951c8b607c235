import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisClient } from '../../redis/index.ts'
import { connected } from '../connected.ts'
import type { Target } from '../target.ts'
import { pauseAfter } from './snapshot.ts'

/** The shortest interval between two looks, in milliseconds. */
export const leastInterval = 100

/**
 * Looks again and again, until the process is interrupted or its output is closed. If a look takes long, the interval
 * grows.
 * @param look returns what shows what was found; it is told the pause that follows, in milliseconds
 */
export async function lookAgain(
  target: Target,
  interval: number,
  look: (client: RedisClient) => Promise<(pause: number) => void>,
): Promise<void> {
  await connected(target, async (client) => {
    const interrupted = new AbortController()
    const { signal } = interrupted
    const stop = (): void => {
      interrupted.abort()
      // A command may be under way that is not answered for a while.
      client.disconnect()
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
    for (const each of signals) process.on(each, stop)
    // The reader of a pipe may go away.
    process.stdout.on('error', stop)
    try {
      while (!signal.aborted) {
        const startedAt = performance.now()
        const show = await look(client)
        const pause = pauseAfter(performance.now() - startedAt, interval)
        show(pause)
        await sleep(pause, undefined, { signal })
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      for (const each of signals) process.off(each, stop)
    }
  })
}
