import { checkOptions, oneOf } from '../core/options/checks.ts'
import { formatValue } from '../core/time/duration.ts'
import type { Store } from '../core/contract/store.ts'
import type { RedisClient } from './connection/client.ts'
import { RedisStore } from './store.ts'

/** The options of a `redisStore`. */
export interface RedisStoreOptions {
  /**
   * How waiters learn of an outcome: `'push'` (default) by a message on one more connection, which the store opens, or
   * `'poll'` by asking again with a growing pause, for a Redis without pub/sub.
   */
  readonly wakeUp?: 'push' | 'poll'
}

const methods = ['getBuffer', 'mgetBuffer', 'callBuffer', 'script', 'publish', 'time', 'duplicate'] as const

/**
 * A store on Redis 6.2 or newer, or Valkey: one node, Sentinel or Cluster.
 * @param client an ioredis `Redis` or `Cluster`; it is neither changed nor closed
 * @throws TypeError for another kind of client, or a wrong option
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  checkClient(client)
  const { scaleReads = 'master' } = (client as { options?: { scaleReads?: unknown } }).options ?? {}
  if (client.isCluster && scaleReads !== 'master') {
    // A replica may lack an acknowledged invalidation.
    throw new TypeError(
      `Expected a Cluster that reads from masters (scaleReads: 'master'), got ${formatValue(scaleReads)}`,
    )
  }
  const { wakeUp = 'push' }: RedisStoreOptions = checkOptions('redisStore', options, { wakeUp: oneOf('push', 'poll') })
  return new RedisStore(client, wakeUp)
}

/** Throws TypeError unless `client` has the required methods. */
export function checkClient(client: RedisClient): void {
  if (methods.every((method) => typeof client?.[method] === 'function')) return
  throw new TypeError(`Expected an ioredis Redis or Cluster, got ${formatValue(client)}`)
}
