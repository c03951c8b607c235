import { errorMonitor } from 'node:events'
import type {
  ClientEvent,
  RedisArgument,
  RedisNode,
  RedisPort,
  RedisSubscriber,
  SubscriberEvents,
} from '../connection/port.ts'
import { once, type NodeRedisKind, type Words } from './node-redis-kinds.ts'
import { NodeRedisSubscriber } from './node-redis-subscriber.ts'
import { invalidateChannel, track } from './track.ts'

/** The events of a client that has ended, of a cluster in version 5, and of one that has given up. */
const ended = ['end', 'disconnect', 'terminated'] as const

/** The clients of node-redis, each kind by its {@link NodeRedisKind}. */
export class NodeRedisPort implements RedisPort {
  readonly isCluster: boolean
  readonly keyPrefix: string
  readonly #kind: NodeRedisKind
  #connected: Promise<void> | undefined
  /** The first connection, while it is under way and the client would refuse commands instead of keeping them. */
  #opening: Promise<void> | null = null

  constructor(kind: NodeRedisKind) {
    const { _keyPrefix = '' } = kind.client as { _keyPrefix?: string | Buffer }
    this.#kind = kind
    this.isCluster = kind.isCluster
    this.keyPrefix = String(_keyPrefix)
    const { options, isReady } = kind.client as { options?: { disableOfflineQueue?: unknown }; isReady?: unknown }
    if (options?.disableOfflineQueue === true && isReady === false)
      this.#opening = firstOf(kind).then(() => void (this.#opening = null))
  }

  /** One promise for all stores on a client, so that each adds no listeners. */
  get connected(): Promise<void> | undefined {
    if (this.#kind.hasConnected()) return undefined
    this.#connected ??= firstOf(this.#kind)
    return this.#connected
  }

  get(key: string): Promise<Buffer | null> {
    const prefixed = this.keyPrefix + key
    return this.#send(prefixed, ['get', prefixed]) as Promise<Buffer | null>
  }

  mget(keys: readonly string[]): Promise<readonly (Buffer | null)[]> {
    return this.#send(undefined, ['mget', ...this.#prefixed(keys)]) as Promise<(Buffer | null)[]>
  }

  evaluate(
    command: 'evalsha' | 'eval',
    script: string,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    const prefixed = this.#prefixed(keys)
    return this.#send(prefixed[0], [command, script, String(keys.length), ...prefixed, ...wordsOf(args)])
  }

  call(command: string, key: string | null, args: readonly RedisArgument[]): Promise<unknown> {
    if (key === null) return this.#send(undefined, [command, ...wordsOf(args)])
    const prefixed = this.keyPrefix + key
    return this.#send(prefixed, [command, prefixed, ...wordsOf(args)])
  }

  nodes(): readonly RedisNode[] {
    return this.#kind.nodes().map(({ name, send, duplicate }) => ({
      name,
      call: (command, args) => send([command, ...wordsOf(args)]),
      subscriber: (channel, events) => new NodeRedisSubscriber(channel, events, duplicate),
      tracker: (prefix, { changed, ...events }) =>
        new NodeRedisSubscriber(
          invalidateChannel,
          // The message of this channel is a list of names, or nothing.
          { ...events, message: (names: unknown) => changed(names as Buffer[] | null) },
          () => duplicate({ RESP: 2 }),
          (connection) => track((words) => connection.sendCommand(words), prefix),
        ),
    }))
  }

  subscriber(channel: string, events: SubscriberEvents): RedisSubscriber {
    return new NodeRedisSubscriber(channel, events, this.#kind.duplicate)
  }

  on(event: ClientEvent, listener: () => void): () => void {
    const { client, ready, follow } = this.#kind
    const names = event === 'ready' ? ready : ended
    for (const name of names) client.on(name, listener)
    const stopFollowing = event === 'ready' ? follow?.(listener) : undefined
    return () => {
      for (const name of names) client.off(name, listener)
      stopFollowing?.()
    }
  }

  onError(listener: (error: unknown) => void): () => void {
    const { client } = this.#kind
    // A cluster reports the errors of its nodes by an event of their own.
    const names = [errorMonitor, 'node-error']
    for (const name of names) client.on(name, listener)
    return () => {
      for (const name of names) client.off(name, listener)
    }
  }

  /** By the form of all error replies, because node-redis gives them no name. */
  isReply(error: unknown): boolean {
    return error instanceof Error && !('code' in error) && /^[A-Z][A-Z0-9]+ /.test(error.message)
  }

  #send(key: string | undefined, words: Words): Promise<unknown> {
    // node-redis rejects what is under way when a connection breaks. Once more, as ioredis does by itself.
    return this.#sendOnce(key, words).catch((error: unknown) => {
      if (!isLoss(error) || !this.#kind.client.isOpen) throw error
      return this.#sendOnce(key, words)
    })
  }

  #sendOnce(key: string | undefined, words: Words): Promise<unknown> {
    if (this.#kind.client.isOpen)
      return this.#opening === null
        ? this.#kind.send(key, words)
        : this.#opening.then(() => this.#kind.send(key, words))
    return Promise.reject(
      new Error('The node-redis client is not open: it has not been connected by `connect()`, or it was closed'),
    )
  }

  #prefixed(keys: readonly string[]): string[] {
    return keys.map((key) => this.keyPrefix + key)
  }
}

/** Resolves when the first connection is open or has failed. */
function firstOf({ client, ready }: NodeRedisKind): Promise<void> {
  return once(client, ...ready, 'reconnecting', 'terminated', 'end')
}

function wordsOf(args: readonly RedisArgument[]): Words {
  return args.map((arg) => (typeof arg === 'number' ? String(arg) : arg))
}

/** Whether an error says that the connection was lost, so that the server may not have received the command. */
function isLoss(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return typeof code === 'string' || message === 'Socket closed unexpectedly' || message === 'Disconnects client'
}
