import { createClient, createCluster, createSentinel, type RedisClientOptions } from 'redis'
import { Redis } from 'ioredis'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import type { RedisClient, RedisPort } from '../../src/redis/index.ts'
import { urlOf, type Address } from '../../tools/servers/start-redis.mjs'

type NodeRedis = ReturnType<typeof createClient>
type NodeRedisCluster = ReturnType<typeof createCluster>
type NodeRedisSentinel = ReturnType<typeof createSentinel>

/** What tests use of the clients of node-redis. */
interface Client {
  on(event: 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  destroy(): unknown
  readonly isOpen: boolean
}

/** The options that tests use; version 5 has no `keyPrefix`. */
export type NodeRedisOptions = Pick<
  RedisClientOptions,
  'url' | 'username' | 'password' | 'socket' | 'keyPrefix' | 'disableOfflineQueue' | 'commandOptions'
> & {
  readonly RESP?: 2 | 3
}

/** A client of node-redis that connects. Servers go away on purpose here, so its error events are heard and dropped. */
export function nodeRedis(options: NodeRedisOptions): NodeRedis {
  return connecting(createClient(options) as NodeRedis)
}

/** A client of a cluster, from the ports of its nodes. */
export function nodeRedisCluster(
  ports: readonly number[],
  options: { keyPrefix?: string; RESP?: 2 | 3 } = {},
): NodeRedisCluster {
  return connecting(createCluster({ rootNodes: rootsOf(ports), ...options }) as NodeRedisCluster)
}

/** A client of the master that sentinels name, from the ports of the sentinels. */
export function nodeRedisSentinel(name: string, ports: readonly number[]): NodeRedisSentinel {
  return connecting(createSentinel({ name, sentinelRootNodes: nodesOf(ports) }) as NodeRedisSentinel)
}

function connecting<Kind extends Client>(client: Kind): Kind {
  client.on('error', () => {})
  client.connect().catch(() => {})
  return client
}

/** Any client that was made for a test. */
export type OpenClient = RedisClient & ({ disconnect(): unknown } | Client)

/** Ends a client, of ioredis or of node-redis, unless it has ended. */
export function disconnect(client: OpenClient): void {
  if ('destroy' in client) {
    if (client.isOpen) void client.destroy()
  } else if ('disconnect' in client) client.disconnect()
}

function nodesOf(ports: readonly number[]): { host: string; port: number }[] {
  return ports.map((port) => ({ host: '127.0.0.1', port }))
}

function rootsOf(ports: readonly number[]): { socket: { host: string; port: number } }[] {
  return nodesOf(ports).map((socket) => ({ socket }))
}

/** The library whose clients the tests of this run are about; in `vitest.config.ts`, a project names the other one. */
export const clientLibrary: 'ioredis' | 'node-redis' =
  process.env['REDIS_CLIENT'] === 'node-redis' ? 'node-redis' : 'ioredis'

/** A client of that library, to be ended by `disconnect`. */
export function openClient(address: Address): OpenClient {
  if (clientLibrary === 'node-redis') return nodeRedis({ url: urlOf(address) })
  const client = new Redis(urlOf(address))
  client.on('error', () => {})
  return client
}

/** The port of a client, but for the members that are found in `instead` when they are used. */
export function portWith(instead: Partial<RedisPort>, client: RedisClient): RedisPort {
  return new Proxy(portOf(client), {
    get(port, name) {
      const member: unknown = Reflect.get(instead, name) ?? Reflect.get(port, name, port)
      return typeof member === 'function' ? (...args: unknown[]): unknown => member.apply(port, args) : member
    },
  })
}
