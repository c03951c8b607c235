import { toldLease, type HeldLease } from '../core/cache/explain.ts'
import { keyNamed, namespacePrefix } from '../core/entry/key.ts'
import { redisStore, type RedisClient } from '../redis/index.ts'
import { namespaceIn } from './namespaces.ts'

/** A load under way, and its namespace. */
export interface NamedLease extends HeldLease {
  readonly namespace: string
}

/**
 * Iterates over the loads under way as they are found, with a scan of all keys.
 * @param namespace `null` for all namespaces
 */
export async function* heldLeases(client: RedisClient, namespace: string | null): AsyncGenerator<NamedLease, void> {
  const prefix = namespace === null ? '' : namespacePrefix(namespace)
  const steps = redisStore(client, { wakeUp: 'poll' }).inspection?.leases?.(prefix)
  for (let step = await steps?.next(); step !== undefined && step.done !== true; step = await steps?.next()) {
    for (const lease of step.value) {
      const told = toldLease(keyNamed(lease.key.slice(lease.key.indexOf(':') + 1)), lease)
      yield { namespace: namespaceIn(lease.key), ...told }
    }
  }
}
