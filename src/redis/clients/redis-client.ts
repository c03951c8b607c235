import { awaited } from '../../core/options/checks.ts'
import { formatValue } from '../../core/time/duration.ts'
import type { RedisPort } from '../connection/port.ts'
import type { GlideClient } from './glide-client.ts'
import { GlidePort, isGlide } from './glide.ts'
import { IoredisPort, isIoredis, type IoredisClient } from './ioredis.ts'
import { kindOf, type NodeRedisClient, type NodeRedisCluster, type NodeRedisSentinel } from './node-redis-kinds.ts'
import { NodeRedisPort } from './node-redis.ts'

/**
 * A client of Redis: `Redis` or `Cluster` of ioredis 5 or 6 or of iovalkey, a client, cluster or sentinel of node-redis
 * 5.9 or newer, `GlideClient` of Valkey GLIDE 2.3 or newer, or an adapter for another client. It belongs to the user: it
 * is never configured or closed. While a connection of node-redis is lost, its writes are held back.
 */
export type RedisClient =
  | IoredisClient
  | NodeRedisClient
  | NodeRedisCluster
  | NodeRedisSentinel
  | GlideClient
  | RedisPort

/** One adapter for all stores and locks on a client, so that they share its listeners. */
const adapters = new WeakMap<object, RedisPort>()

const ports = ['get', 'mget', 'evaluate', 'call', 'nodes', 'subscriber', 'on', 'isReply'] as const

/**
 * The client, as the port.
 * @throws TypeError for another kind of value
 */
export function portOf(client: RedisClient): RedisPort {
  const value: unknown = client
  const present = typeof value === 'object' && value !== null ? (adapters.get(value) ?? adapted(value)) : undefined
  if (present !== undefined) return present
  throw new TypeError(
    'Expected a client of ioredis 5 or 6 (Redis or Cluster), of node-redis 5.9 or newer (createClient, createCluster or ' +
      `createSentinel), of Valkey GLIDE 2.3 or newer (GlideClient), or an adapter (RedisPort), got ${formatValue(client)}${awaited(client)}`,
  )
}

function adapted(client: object): RedisPort | undefined {
  if (isIoredis(client)) return kept(client, new IoredisPort(client))
  // It sends JSON: values and leases have bytes that are no text.
  if (hasAll(client, 'createScript', 'evalsha', 'pipeline'))
    throw new TypeError(
      'The REST client of Upstash cannot send or receive bytes, which values have. Expected a client of its Redis ' +
        'endpoint (rediss://), such as one of ioredis',
    )
  if (isGlide(client)) return kept(client, new GlidePort(client))
  const kind = kindOf(client)
  if (kind !== null) return kept(client, new NodeRedisPort(kind))
  return hasAll(client, ...ports) ? (client as RedisPort) : undefined
}

function hasAll(value: object, ...methods: readonly string[]): boolean {
  return methods.every((method) => typeof Reflect.get(value, method) === 'function')
}

function kept(client: object, port: RedisPort): RedisPort {
  adapters.set(client, port)
  return port
}
