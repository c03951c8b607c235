import { messageOf } from '../../core/errors.ts'
import { timers } from '../../core/time/clock.ts'
import { duplicateOf, type NodeRedisConnection, type Opened, type Protocol } from './node-redis-subscriber.ts'
import { holdWritesOnLoss, type PausableWrites } from './node-redis-writes.ts'

/**
 * The options of our commands: Buffers for strings (36 is `RESP_TYPES.BLOB_STRING`), and no timeout of the client.
 * Version 6 gives up a command that it has not sent within five seconds; ours have a deadline of their own.
 */
export interface Binary {
  readonly typeMapping: { readonly 36: BufferConstructor }
  readonly timeout: 0
}

const binary: Binary = { typeMapping: { 36: Buffer }, timeout: 0 }

/** The words of a command: its name and its arguments. */
export type Words = (string | Buffer)[]

/** The common members of the clients of node-redis. */
interface NodeRedisBase {
  readonly isOpen: boolean
  on(event: string | symbol, listener: (error?: unknown) => void): unknown
  off(event: string | symbol, listener: (error?: unknown) => void): unknown
}

/** The required members of the result of `createClient` of node-redis 5 (from 5.9) and 6. */
export interface NodeRedisClient extends NodeRedisBase, NodeRedisConnection {
  /** The number of connections that it has had. */
  readonly socketEpoch: number
}

/** The required members of the result of `createCluster` of node-redis 5 (from 5.9) and 6. */
export interface NodeRedisCluster extends NodeRedisBase {
  /** Missing in node-redis 5. */
  readonly isReady?: boolean
  readonly masters: readonly ClusterNode[]
  readonly nodeByAddress: {
    has(address: string): boolean
    values(): Iterable<{ readonly client?: PausableWrites | undefined }>
  }
  nodeClient(node: ClusterNode): Promise<NodeRedisConnection>
  sendCommand(key: string | undefined, isReadonly: boolean, args: Words, options: Binary): Promise<unknown>
}

interface ClusterNode {
  readonly address: string
}

/** The required members of the result of `createSentinel` of node-redis 5 (from 5.9) and 6. */
export interface NodeRedisSentinel extends NodeRedisBase {
  readonly isReady: boolean
  getMasterNode(): { readonly host: string; readonly port: number } | undefined
  sendCommand(isReadonly: boolean, args: Words, options: Binary): Promise<unknown>
  /** Internal to node-redis: the only way to the connection of the master, which the subscriber duplicates. */
  _execute<T>(isReadonly: boolean, use: (connection: NodeRedisConnection) => Promise<T>): Promise<T>
}

/** A server, and the way to it. */
interface Node {
  readonly name: string
  readonly send: (words: Words) => Promise<unknown>
  /** Makes a connection to it for a subscription; rejects while the client is not connected to it. */
  readonly duplicate: (protocol?: Protocol) => Promise<Opened>
}

/** The differences between the kinds of clients. */
export interface NodeRedisKind {
  readonly client: NodeRedisBase
  readonly isCluster: boolean
  /** The events of an open connection, or of another server. */
  readonly ready: readonly string[]
  /** Listens to the connection itself, where the client reports nothing of it; returns a function that stops it. */
  readonly follow?: (listener: () => void) => () => void
  /** Whether its first connection was open. */
  readonly hasConnected: () => boolean
  /** Sends a command to the master of a key, or to any master. */
  readonly send: (key: string | undefined, words: Words) => Promise<unknown>
  readonly nodes: () => readonly Node[]
  /** Makes a connection for the subscription; rejects while the client is not connected. */
  readonly duplicate: Node['duplicate']
}

/** The kind of a client; `null` for another value. */
export function kindOf(value: object): NodeRedisKind | null {
  const has = (...methods: string[]): boolean =>
    methods.every((method) => typeof (value as { [name: string]: unknown })[method] === 'function')
  if (!has('on', 'off', 'sendCommand', 'withTypeMapping')) return null
  if (has('nodeClient')) return cluster(value as NodeRedisCluster)
  if (has('getMasterNode', '_execute')) return sentinel(value as NodeRedisSentinel)
  return has('duplicate', 'subscribe', 'connect', 'destroy', 'unref', '_pause')
    ? standalone(value as NodeRedisClient)
    : null
}

function standalone(client: NodeRedisClient): NodeRedisKind {
  const send = (_key: string | undefined, words: Words): Promise<unknown> => client.sendCommand(words, binary)
  const duplicate: Node['duplicate'] = async (protocol = {}) => ({
    connection: duplicateOf(client, protocol),
    isCurrent: () => true,
  })
  holdWritesOnLoss(client)
  return {
    client,
    isCluster: false,
    ready: ['ready'],
    hasConnected: () => client.socketEpoch > 0,
    send,
    nodes: () => [{ name: '', send: (words) => send(undefined, words), duplicate }],
    duplicate,
  }
}

function cluster(client: NodeRedisCluster): NodeRedisKind {
  let connecting: Promise<void> | undefined
  const hasConnected = (): boolean => client.isReady ?? client.masters.length > 0
  const sent = (key: string | undefined, words: Words): Promise<unknown> =>
    untilMoved(() => client.sendCommand(key, false, words, binary))
  const hold = (): void => {
    for (const node of client.nodeByAddress.values()) if (node.client !== undefined) holdWritesOnLoss(node.client)
  }
  client.on('node-connect', hold)
  hold()
  return {
    client,
    isCluster: true,
    ready: ['connect', 'node-ready'],
    hasConnected,
    // Until it knows the nodes, the client refuses commands instead of keeping them.
    send: (key, words) => {
      if (hasConnected()) return sent(key, words)
      connecting ??= once(client, 'connect')
      return connecting.then(() => sent(key, words))
    },
    nodes: () =>
      client.masters.map((node) => ({
        name: node.address,
        send: async (words) => (await client.nodeClient(node)).sendCommand(words, binary),
        duplicate: async (protocol = {}) => {
          // For a node that it has forgotten, the client would make a connection that nothing ends.
          const now = client.masters.find(({ address }) => address === node.address)
          if (now === undefined) throw new Error(`${node.address} is no master of the cluster`)
          return { connection: duplicateOf(await client.nodeClient(now), protocol), isCurrent: () => true }
        },
      })),
    duplicate: async (protocol = {}) => {
      const node = client.masters[Math.floor(Math.random() * client.masters.length)]
      if (node === undefined) throw new Error('The cluster is not connected')
      const connection = duplicateOf(await client.nodeClient(node), protocol)
      return { connection, isCurrent: () => client.nodeByAddress.has(node.address) }
    },
  }
}

function sentinel(client: NodeRedisSentinel): NodeRedisKind {
  const send = (_key: string | undefined, words: Words): Promise<unknown> => client.sendCommand(false, words, binary)
  const master = (): string => {
    const { host, port } = client.getMasterNode() ?? {}
    return `${host}:${port}`
  }
  const duplicate: Node['duplicate'] = async (protocol = {}) => {
    const connection = await client._execute(false, async (own) => duplicateOf(own, protocol))
    const its = master()
    return { connection, isCurrent: () => master() === its }
  }
  const hold = (): void => void client._execute(false, async (own) => holdWritesOnLoss(own)).catch(() => undefined)
  client.on('topology-change', hold)
  if (client.isReady) hold()
  return {
    client,
    isCluster: false,
    ready: ['ready', 'topology-change'],
    follow: (listener) => followMaster(client, listener),
    hasConnected: () => client.isReady,
    send,
    nodes: () => [{ name: '', send: (words) => send(undefined, words), duplicate }],
    duplicate,
  }
}

/** How often a command is sent again while its slot moves, and the pause before it in milliseconds, as by ioredis. */
const resend = { most: 16, pause: 100 }

/** Sends a command until its keys, some of which are on another node already, are on one. */
async function untilMoved(send: () => Promise<unknown>): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send()
    } catch (error) {
      if (attempt > resend.most || !messageOf(error).startsWith('TRYAGAIN')) throw error
    }
    await new Promise<void>((resolve) => timers.setTimeout(resolve, resend.pause).unref())
  }
}

/** Listens to the connection to the master, and to that to the next master; returns a function that stops it. */
function followMaster(client: NodeRedisSentinel, listener: () => void): () => void {
  let followed: NodeRedisConnection | undefined
  let isStopped = false
  const follow = async (): Promise<void> => {
    const connection = await client._execute(false, async (own) => own)
    if (isStopped || connection === followed) return
    followed?.off('ready', listener)
    followed = connection
    connection.on('ready', listener)
  }
  const changed = (): void => void follow().catch(() => undefined)
  client.on('topology-change', changed)
  if (client.isReady) changed()
  return () => {
    isStopped = true
    client.off('topology-change', changed)
    followed?.off('ready', listener)
  }
}

/** Resolves when an event happens. */
export function once(client: NodeRedisBase, ...events: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      for (const event of events) client.off(event, over)
      resolve()
    }
    for (const event of events) client.on(event, over)
  })
}
