import { errorMonitor } from 'node:events'
import type {
  ClientEvent,
  RedisArgument,
  RedisNode,
  RedisPort,
  RedisSubscriber,
  SubscriberEvents,
  TrackingEvents,
} from '../connection/port.ts'
import { formatValue } from '../../core/time/duration.ts'
import { invalidateChannel, track } from './track.ts'

/** The required methods of `Redis` and `Cluster` of ioredis 5 and 6. */
export interface IoredisClient extends IoredisCommands {
  getBuffer(key: string): Promise<Buffer | null>
  mgetBuffer(keys: string[]): Promise<(Buffer | null)[]>
  /** Another connection with the same settings, for the subscription. Of a cluster, the options come second. */
  duplicate(overrides?: object, options?: object): IoredisSubscriber
  pipeline?(): { exec(): Promise<[error: Error | null, reply: unknown][] | null> }
  readonly isCluster: boolean
  /** The nodes of a cluster. */
  nodes?(role: 'master'): readonly IoredisNode[]
  /** `'wait'`, `'connecting'` or `'connect'` until its first connection is open. */
  readonly status?: string
  /** Opens it, if that waits for the first command. */
  connect?(): Promise<unknown>
  /** Reports each new connection, each that ends or fails, and that there will be no further one. */
  on?(event: 'ready' | 'close' | 'end', listener: () => void): unknown
  off?(event: 'ready' | 'close' | 'end', listener: () => void): unknown
  on?(event: typeof errorMonitor, listener: (error: unknown) => void): unknown
  off?(event: typeof errorMonitor, listener: (error: unknown) => void): unknown
}

/** The method of ioredis for any command; strings in replies arrive as Buffers. */
interface IoredisCommands {
  callBuffer(command: string, args: RedisArgument[]): Promise<unknown>
}

/** A node of an ioredis `Cluster`. */
interface IoredisNode extends IoredisCommands {
  readonly options?: { readonly host?: string | undefined; readonly port?: number | undefined }
  duplicate(overrides: object): IoredisSubscriber
}

/** The duplicate of an ioredis client. */
interface IoredisSubscriber extends IoredisCommands {
  readonly status: string
  connect(): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  disconnect(reconnect?: boolean): void
  on(event: 'messageBuffer', listener: (channel: Buffer, message: Buffer) => void): unknown
  on(event: 'ready' | 'close' | 'end', listener: () => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
  on(event: '+node', listener: (node: IoredisConnection) => void): unknown
}

/** The connection of an ioredis `Cluster` to a node. */
interface IoredisConnection {
  once(event: 'end', listener: () => void): unknown
  disconnect(): void
}

const methods = ['getBuffer', 'mgetBuffer', 'callBuffer', 'duplicate'] as const

/** Whether a value has the methods of an ioredis client. */
export function isIoredis(value: Partial<IoredisClient>): value is IoredisClient {
  return methods.every((method) => typeof value[method] === 'function')
}

/** `Redis` and `Cluster` of ioredis. */
export class IoredisPort implements RedisPort {
  readonly isCluster: boolean
  readonly keyPrefix: string
  readonly #client: IoredisClient
  #connected: Promise<void> | undefined
  /** The first connection, while it is under way and the client would refuse commands instead of keeping them. */
  #opening: Promise<void> | null = null
  /** Whether it is a cluster client that sends the commands of a tick together. */
  readonly #isPipelined: boolean

  /** @throws TypeError for a cluster client that reads from replicas */
  constructor(client: IoredisClient) {
    const { keyPrefix, scaleReads = 'master', enableOfflineQueue, enableAutoPipelining } = optionsOf(client)
    if (client.isCluster && scaleReads !== 'master') {
      // A replica may lack an acknowledged invalidation.
      throw new TypeError(
        `Expected a Cluster that reads from masters (scaleReads: 'master'), got ${formatValue(scaleReads)}`,
      )
    }
    this.#client = client
    this.isCluster = client.isCluster
    this.#isPipelined = client.isCluster && enableAutoPipelining === true
    this.keyPrefix = typeof keyPrefix === 'string' ? keyPrefix : ''
    if (enableOfflineQueue === false) this.#opening = this.connected?.then(() => void (this.#opening = null)) ?? null
  }

  /** One promise for all stores on a client, so that each adds no listeners. */
  get connected(): Promise<void> | undefined {
    if (!['wait', 'connecting', 'connect'].includes(this.#client.status ?? '')) return undefined
    this.#connected ??= new Promise((resolve) => {
      const over = (): void => {
        this.#client.off?.('ready', over)
        this.#client.off?.('close', over)
        resolve()
      }
      this.#client.on?.('ready', over)
      this.#client.on?.('close', over)
    })
    return this.#connected
  }

  get(key: string): Promise<Buffer | null> {
    return this.#opening === null ? this.#client.getBuffer(key) : this.#opened(() => this.#client.getBuffer(key))
  }

  mget(keys: string[]): Promise<readonly (Buffer | null)[]> {
    return this.#opening === null ? this.#client.mgetBuffer(keys) : this.#opened(() => this.#client.mgetBuffer(keys))
  }

  evaluate(
    command: 'evalsha' | 'eval',
    script: string,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    return this.#send(command, [script, keys.length, ...keys, ...args], this.#isPipelined ? sentAlone : sent)
  }

  call(command: string, key: string | null, args: readonly RedisArgument[]): Promise<unknown> {
    return this.#send(command, key === null ? [...args] : [key, ...args])
  }

  nodes(): readonly RedisNode[] {
    const nodes: readonly IoredisNode[] = this.#client.nodes?.('master') ?? [this.#client]
    return nodes.map((node) => ({
      name: `${node.options?.host}:${node.options?.port}`,
      call: (command, args) => sent(node, command, [...args]),
      subscriber: (channel, events) => subscribing(node.duplicate(connectsAgain), channel, events),
      tracker: (prefix, events) => tracking(node.duplicate({ ...connectsAgain, protocol: 2 }), prefix, events),
    }))
  }

  subscriber(channel: string, events: SubscriberEvents): RedisSubscriber {
    const { retryStrategy } = connectsAgain
    const connection = this.isCluster
      ? this.#client.duplicate([], { clusterRetryStrategy: retryStrategy })
      : this.#client.duplicate(connectsAgain)
    return subscribing(connection, channel, events)
  }

  on(event: ClientEvent, listener: () => void): () => void {
    this.#client.on?.(event, listener)
    return () => void this.#client.off?.(event, listener)
  }

  onError(listener: (error: unknown) => void): () => void {
    this.#client.on?.(errorMonitor, listener)
    return () => void this.#client.off?.(errorMonitor, listener)
  }

  isReply(error: unknown): boolean {
    return (error as Error | null)?.name === 'ReplyError'
  }

  #send(command: string, args: RedisArgument[], by: typeof sentAlone = sent): Promise<unknown> {
    return this.#opening === null
      ? by(this.#client, command, args)
      : this.#opened(() => by(this.#client, command, args))
  }

  /** Runs a command once the first connection is open or has failed. */
  async #opened<T>(run: () => Promise<T>): Promise<T> {
    // As a command does that is kept.
    if (this.#client.status === 'wait') this.#client.connect?.().catch(() => undefined)
    await this.#opening
    return await run()
  }
}

/**
 * The options in which a subscriber differs from the client, which its user may let give up, and from the connection to a
 * node, which is replaced when it breaks.
 */
const connectsAgain = { retryStrategy: (attempt: number): number => Math.min(50 * attempt, 2_000) }

/** Reports changed keys on a connection that speaks RESP2: ioredis drops the reports of RESP3. */
function tracking(
  connection: IoredisSubscriber,
  prefix: string,
  { changed, ...events }: TrackingEvents,
): RedisSubscriber {
  let isTracked = false
  connection.on('ready', () => (isTracked = false))
  // The message of this channel is a list of names, or nothing.
  const message = (names: unknown): void => changed(names as Buffer[] | null)
  const subscriber = subscribing(connection, invalidateChannel, { ...events, message })
  return Object.assign(subscriber, {
    async subscribe() {
      if (!isTracked) await track((words) => sent(connection, words[0] as string, words.slice(1)), prefix)
      isTracked = true
      return await connection.subscribe(invalidateChannel)
    },
  })
}

function subscribing(
  connection: IoredisSubscriber,
  channel: string,
  { opened, lost, failed, message }: SubscriberEvents,
): RedisSubscriber {
  leaveSubscribing(connection)
  const endNodes = nodeEnder(connection)
  connection.on('messageBuffer', (_channel, bytes) => message(bytes))
  connection.on('ready', opened)
  connection.on('close', lost)
  connection.on('error', failed)
  // Not by its status: that of a cluster client which has ended is `close`, if several of its nodes end after one another.
  let hasEnded = false
  connection.on('end', () => (hasEnded = true))
  if (connection.status === 'wait') connection.connect().catch(() => undefined)
  return {
    get isOpen() {
      return connection.status === 'ready'
    },
    subscribe: () => connection.subscribe(channel),
    reconnect: () => connection.disconnect(true),
    open: () => {
      if (!hasEnded) return
      hasEnded = false
      connection.connect().catch(() => undefined)
    },
    close: () => {
      connection.disconnect()
      endNodes()
    },
  }
}

/** What we look at of the options of a client, which are not part of its interface. */
function optionsOf(
  client: object,
): Partial<Record<'keyPrefix' | 'scaleReads' | 'enableOfflineQueue' | 'enableAutoPipelining', unknown>> {
  return (client as { options?: object }).options ?? {}
}

/**
 * Sends a script in a pipeline of its own. Before 5.11, ioredis chose the pipeline of a tick by the digest of a script in
 * place of its keys, so that those for several nodes were refused together; iovalkey still does.
 */
async function sentAlone(client: IoredisClient, command: string, args: RedisArgument[]): Promise<unknown> {
  const pipeline = client.pipeline?.()
  if (pipeline === undefined) return await sent(client, command, args)
  // It has the methods of its client.
  void sent(pipeline as unknown as IoredisCommands, command, args)
  const [[error, reply]] = (await pipeline.exec()) as [[Error | null, unknown]]
  if (error !== null) throw error
  return reply
}

/**
 * Sends a command. ioredis has an undocumented method for each; it is preferred, because `callBuffer` throws with
 * `enableAutoPipelining`.
 */
function sent(client: IoredisCommands, command: string, args: RedisArgument[]): Promise<unknown> {
  const own: unknown = Reflect.get(client, `${command}Buffer`)
  if (typeof own !== 'function') return client.callBuffer(command, args)
  return (own as (...args: RedisArgument[]) => Promise<unknown>).call(client, ...args)
}

/**
 * Turns off the re-subscription of ioredis, because the inbox does that itself. The one of ioredis rejects without a
 * handler if it fails, for instance when the cache is closed at that moment, and that ends the process.
 */
function leaveSubscribing(subscriber: IoredisSubscriber): void {
  const { options } = subscriber as { options?: { autoResubscribe?: unknown } }
  if (options?.autoResubscribe === true) options.autoResubscribe = false
}

/**
 * Returns a function that ends the connections of a cluster client to its nodes. ioredis 5 does not end that of a node
 * which leaves the cluster and comes back before its old connection is closed
 * (https://github.com/redis/ioredis/pull/1864), and the process would not exit.
 */
function nodeEnder(cluster: IoredisSubscriber): () => void {
  const nodes = new Set<IoredisConnection>()
  cluster.on('+node', (node) => {
    nodes.add(node)
    node.once('end', () => nodes.delete(node))
  })
  return () => {
    for (const node of nodes) node.disconnect()
  }
}
