import type { createClient, createCluster, createSentinel } from 'redis'
import type { NodeRedisClient, NodeRedisCluster, NodeRedisSentinel } from '../redis/clients/node-redis-kinds.ts'
import { portOf } from '../redis/clients/redis-client.ts'
import type { RedisPort } from '../redis/index.ts'
import type { Credentials, Address, ClientLibrary, OwnClient, TargetWay } from './library.ts'

/** The required functions of node-redis. */
interface NodeRedis {
  readonly createClient: typeof createClient
  readonly createCluster: typeof createCluster
  readonly createSentinel: typeof createSentinel
}

/** The common members of its clients. The compiler would take half a minute for the union of their own types. */
interface CommonMembers {
  connect(): Promise<unknown>
  destroy(): unknown
}

type AnyClient = (NodeRedisClient | NodeRedisCluster | NodeRedisSentinel) & CommonMembers

/** The members of the client of one server. */
interface ServerClient {
  sendCommand(words: string[]): Promise<unknown>
  subscribe(channel: string, listener: () => void): Promise<unknown>
}

/** The clients of node-redis 5 and 6. */
export function nodeRedisLibrary(library: NodeRedis): ClientLibrary {
  return {
    name: 'node-redis',
    parse: (url) => parsed(library, url),
    open: (way, timeout) => ownClient(clientOf(library, way, timeout), timeout),
  }
}

function parsed(library: NodeRedis, url: string): Credentials & { readonly address: Address } {
  // It knows no URL for a socket.
  if (url.startsWith('/')) return { tls: null, database: 0, address: { path: url } }
  const { username, password, database, socket } = library.createClient({ url }).options
  const { host = '127.0.0.1', port = 6379, tls } = { ...socket } as { host?: string; port?: number; tls?: boolean }
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    tls: tls === true ? {} : null,
    database: database ?? 0,
    // Brackets are part of a URL alone.
    address: { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) },
  }
}

function clientOf(library: NodeRedis, way: TargetWay, timeout: number): AnyClient {
  const { addresses, kind, master, tls, database, username, password } = way
  const socket = {
    ...(tls !== null && { ...tls, tls: true as const }),
    connectTimeout: timeout,
    reconnectStrategy: false as const,
  }
  const login = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) }
  const places = addresses.filter((address): address is Extract<Address, { host: string }> => 'host' in address)
  switch (kind) {
    case 'cluster':
      return library.createCluster({
        rootNodes: places.map((place) => ({ socket: { ...socket, ...place } })),
        defaults: { ...login, socket },
      })
    case 'sentinel':
      return library.createSentinel({
        name: master,
        sentinelRootNodes: [...places],
        nodeClientOptions: { ...login, database, socket },
        sentinelClientOptions: { socket },
        maxCommandRediscovers: 1,
      })
    case 'server':
      // RESP2, so that replies have the form that ioredis gives them.
      return library.createClient({
        ...login,
        RESP: 2,
        database,
        socket: { ...socket, ...addresses[0] },
        disableClientInfo: true,
      })
  }
}

function ownClient(client: AnyClient, timeout: number): OwnClient {
  const messages: (() => void)[] = []
  const errors: ((error: unknown) => void)[] = []
  const heard = (error: unknown): void => errors.forEach((listener) => listener(error))
  for (const event of ['error', 'node-error', 'client-error']) client.on(event, heard)
  const within = <T>(promise: Promise<T>): Promise<T> => inTime(promise, timeout)
  // Only of one server.
  const own = client as unknown as ServerClient
  const port = portOf(client)
  return {
    client: { ...timedPort(port, within), disconnect: () => end(client) },
    connect: () => within(client.connect()),
    call: (command, args) => within(own.sendCommand([command, ...args.map(String)])),
    subscribe: (channel) => within(own.subscribe(channel, () => messages.forEach((listener) => listener()))),
    onMessage: (listener) => void messages.push(listener),
    onError: (listener) => void errors.push(listener),
    onLoss: (listener) => {
      errors.push(listener)
      client.on('end', listener)
    },
  }
}

/** Ends a client, also one that has ended. */
function end(client: AnyClient): void {
  if (client.isOpen) void client.destroy()
}

/** A port on which no command takes for ever: node-redis waits for ever for a reply. */
function timedPort(port: RedisPort, within: <T>(promise: Promise<T>) => Promise<T>): RedisPort {
  return {
    isCluster: port.isCluster,
    keyPrefix: port.keyPrefix,
    connected: undefined,
    get: (key) => within(port.get(key)),
    mget: (keys) => within(port.mget(keys)),
    evaluate: (...given) => within(port.evaluate(...given)),
    call: (...given) => within(port.call(...given)),
    nodes: () => port.nodes().map((node) => ({ name: node.name, call: (...given) => within(node.call(...given)) })),
    subscriber: (...given) => port.subscriber(...given),
    on: (...given) => port.on(...given),
    isReply: (error) => port.isReply(error),
  }
}

async function inTime<T>(promise: Promise<T>, timeout: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('Command timed out')), timeout)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
