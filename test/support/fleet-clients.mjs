/**
 * The clients of the processes of a fleet: those of ioredis, or those of node-redis if REDIS_CLIENT says so. A test says
 * the same of both, in the words of ioredis.
 *
 * @typedef {import('./fleet.ts').RedisSpec} RedisSpec
 * @typedef {NonNullable<RedisSpec['options']>} Options
 * @typedef {import('../../src/redis/index.ts').RedisClient & { quit(): unknown, disconnect(): unknown }} FleetClient
 * @typedef {{ host?: string, port?: number }} Place
 * @typedef {{ duplicate: (overrides?: any, ...more: any[]) => any }} Duplicable
 */

import { requireMajor, requireOlder } from '../older/majors.mjs'
import { followNodes } from './own-client.mjs'

/** Which clients the tests of this run are about. */
export const clientLibrary = process.env['REDIS_CLIENT'] === 'node-redis' ? 'node-redis' : 'ioredis'

/**
 * A client as it is specified, when it is connected, and when the store on it has subscribed, or been refused.
 * @param {RedisSpec} redis
 */
export async function openClient(redis) {
  const { client, connected } = clientLibrary === 'node-redis' ? await nodeRedis(redis) : await ioredis(redis)
  const subscribed = subscription(client, redis.subscriber)
  return { client: /** @type {FleetClient} */ (/** @type {unknown} */ (client)), connected, subscribed }
}

/** @param {RedisSpec} redis */
async function ioredis(redis) {
  /** @type {typeof import('ioredis')} */
  const { Redis, Cluster } = (redis.older ? requireOlder : requireMajor)('ioredis')
  const client = redis.nodes ? new Cluster([...redis.nodes], { ...redis.cluster }) : new Redis({ ...redis.options })
  client.on('error', () => {})
  followNodes(client)
  return { client, connected: () => client.ping() }
}

/** @param {RedisSpec} redis */
async function nodeRedis({ nodes, cluster, options = {}, older }) {
  /** @type {typeof import('redis')} */
  const { createClient, createCluster, createSentinel } = (older ? requireOlder : requireMajor)('redis')
  const { sentinels, name = '', natMap, ...own } = options
  const client = nodes
    ? createCluster({ rootNodes: nodes.map((socket) => ({ socket })), ...clusterOptions(cluster) })
    : sentinels
      ? createSentinel({
          name,
          sentinelRootNodes: sentinels.map(({ host = '127.0.0.1', port = 0 }) => ({ host, port })),
          nodeClientOptions: clientOptions(own),
          ...(natMap && { nodeAddressMap: /** @type {Record<string, { host: string, port: number }>} */ (natMap) }),
        })
      : createClient(clientOptions(own))
  client.on('error', () => {})
  const connecting = client.connect()
  connecting.catch(() => {})
  return { client, connected: () => /** @type {Promise<unknown>} */ (connecting) }
}

/** @param {RedisSpec['cluster']} cluster */
function clusterOptions({ natMap, redisOptions } = {}) {
  return {
    ...(natMap && { nodeAddressMap: natMap }),
    ...(redisOptions && { defaults: clientOptions(redisOptions), topologyRefreshOnReconnectionAttemptStrategy: 500 }),
  }
}

/** @param {Partial<Options>} options */
function clientOptions({ username, password, db, keyPrefix, commandTimeout, enableOfflineQueue, ...place }) {
  return {
    socket: socketOptions(place),
    // It counts the silence of a connection on which nothing waits, too.
    ...(place.socketTimeout !== undefined && { pingInterval: place.socketTimeout / 2 }),
    ...(username !== undefined && { username }),
    ...(typeof password === 'string' && { password }),
    ...(db !== undefined && { database: db }),
    ...(keyPrefix !== undefined && { keyPrefix }),
    ...(commandTimeout !== undefined && { commandOptions: { timeout: commandTimeout } }),
    ...(enableOfflineQueue === false && { disableOfflineQueue: true }),
  }
}

/** @param {Partial<Options>} options */
function socketOptions({ host, port, path, tls, connectTimeout, socketTimeout }) {
  return {
    ...(path === undefined ? { host: host ?? '127.0.0.1', port: port ?? 6379 } : { path }),
    ...(tls !== undefined && { ...tls, tls: /** @type {const} */ (true) }),
    ...(connectTimeout !== undefined && { connectTimeout }),
    // The usual strategy gives up after silence.
    ...(socketTimeout !== undefined && {
      socketTimeout,
      reconnectStrategy: (/** @type {number} */ retries) => Math.min(50 * 2 ** retries, 2_000),
    }),
  }
}

/**
 * Resolves when the store has subscribed, or been refused.
 * @param {object} client
 * @param {Options | undefined} elsewhere where its subscription goes instead
 */
function subscription(client, elsewhere) {
  return new Promise((resolve) => {
    const watch = (/** @type {Duplicable} */ connection) => watched(connection, elsewhere, resolve)
    if (clientLibrary === 'ioredis' || !('nodeClient' in client || '_execute' in client)) {
      watch(/** @type {Duplicable} */ (client))
      return
    }
    // The connection that is duplicated is one of those of the client.
    const method = 'nodeClient' in client ? 'nodeClient' : '_execute'
    const original = /** @type {(...args: any[]) => Promise<any>} */ (Reflect.get(client, method)).bind(client)
    const value =
      method === 'nodeClient'
        ? async (/** @type {unknown} */ node) => watch(await original(node))
        : (/** @type {unknown} */ isReadonly, /** @type {(connection: object) => unknown} */ use) =>
            original(isReadonly, (/** @type {Duplicable} */ connection) => use(watch(Object.create(connection))))
    Object.defineProperty(client, method, { value })
  })
}

/**
 * @param {Duplicable} connection
 * @param {Options | undefined} elsewhere
 * @param {(value: unknown) => void} settled
 */
function watched(connection, elsewhere, settled) {
  const duplicate = connection.duplicate.bind(connection)
  const value = (/** @type {{ socket?: Place } | unknown[]} */ overrides, /** @type {unknown[]} */ ...more) => {
    const subscriber = duplicate(elsewhere === undefined ? overrides : placed(overrides, elsewhere), ...more)
    const subscribe = subscriber.subscribe.bind(subscriber)
    subscriber.subscribe = (/** @type {unknown[]} */ ...args) => {
      const done = subscribe(...args)
      done.then(settled, settled)
      return done
    }
    return subscriber
  }
  return Object.defineProperty(connection, 'duplicate', { value, configurable: true })
}

/**
 * What a connection is duplicated with, for another place: the nodes of a cluster, or the options of ioredis or of
 * node-redis.
 * @param {{ socket?: Place } | unknown[]} overrides
 * @param {Options} elsewhere
 */
function placed(overrides, elsewhere) {
  if (Array.isArray(overrides)) return [elsewhere]
  if (overrides.socket === undefined) return { ...overrides, ...elsewhere }
  return { ...overrides, socket: { ...overrides.socket, ...elsewhere } }
}
