import { checkOptions, oneOf } from '../core/options/checks.ts'
import type { Store } from '../core/contract/store.ts'
import { portOf, type RedisClient } from './clients/redis-client.ts'
import { RedisStore } from './store.ts'

/** The options of a `redisStore`. */
export interface RedisStoreOptions {
  /**
   * How waiters learn of an outcome: `'push'` (default) by a message on one more connection, which the store opens, or
   * `'poll'` by asking again with a growing pause, for a Redis without pub/sub.
   */
  readonly wakeUp?: 'push' | 'poll'
}

/** The stores of a client, by how waiters learn of an outcome: caches on one client share one, and its connection. */
const stores = new WeakMap<object, Map<string, RedisStore>>()

/**
 * A store on Redis 6.2 or newer, or Valkey: one node, Sentinel or Cluster.
 * @param client a client of ioredis, iovalkey, node-redis or Valkey GLIDE, or an adapter; it is neither changed nor
 *   closed. All its stores with the same options are one, with one connection for messages
 * @throws TypeError for another kind of client, or a wrong option
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  const port = portOf(client)
  const { wakeUp = 'push' }: RedisStoreOptions = checkOptions('redisStore', options, { wakeUp: oneOf('push', 'poll') })
  const ofClient = stores.get(port) ?? new Map<string, RedisStore>()
  const store = ofClient.get(wakeUp) ?? new RedisStore(port, wakeUp)
  stores.set(port, ofClient.set(wakeUp, store))
  return store
}
