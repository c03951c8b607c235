/** An argument of a command. */
export type RedisArgument = string | Buffer | number

/**
 * The required operations of a Redis client. There are adapters for ioredis and node-redis; an adapter for another
 * client passes `clientContract` of `herdless/testing`.
 *
 * Strings in replies arrive as Buffers, or as strings if the server sends a status; integers as numbers, or as their
 * digits. A connection that breaks may reject the commands under way, or send them again: all of them may be repeated.
 */
export interface RedisPort {
  /** Whether keys live on several nodes. */
  readonly isCluster: boolean
  /** The prefix of every key in Redis. It is added to keys, and stays in the names that replies and messages carry. */
  readonly keyPrefix: string
  /** Resolves when the first connection is open or has failed; `undefined` if it is not under way. */
  readonly connected: Promise<void> | undefined
  /** GET. */
  get(key: string): Promise<Buffer | null>
  /** MGET, of two keys or more; not called on a cluster. */
  mget(keys: readonly string[]): Promise<readonly (Buffer | null)[]>
  /** Runs a script on the server of its keys, of which there is at least one. */
  evaluate(
    command: 'evalsha' | 'eval',
    script: string,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown>
  /**
   * Sends a command.
   * @param key its first argument; `null` for a command without a key, which any node may get
   */
  call(command: string, key: string | null, args: readonly RedisArgument[]): Promise<unknown>
  /** The masters of a cluster; else the one server. */
  nodes(): readonly RedisNode[]
  /** Subscribes to a channel on a connection of its own, which connects again and again until it is closed. */
  subscriber(channel: string, events: SubscriberEvents): RedisSubscriber
  /** Calls a listener at each event; returns a function that stops it. */
  on(event: ClientEvent, listener: () => void): () => void
  /**
   * Calls a listener at each error of the client's connections, without being taken for a listener of the user; returns a
   * function that stops it. Absent if the client does not report errors.
   */
  onError?(listener: (error: unknown) => void): () => void
  /**
   * Whether a reply that has an error within it rejects, and hides the rest. What was sent for several keys at once is
   * then sent again for each. Default `false`.
   */
  readonly refusesWhole?: boolean
  /** Whether a rejection is an error reply: the server has received the command and refused it. */
  isReply(error: unknown): boolean
}

/** An event of a client: a connection is open, or no further connection will be made. */
export type ClientEvent = 'ready' | 'end'

/** A server. */
export interface RedisNode {
  /** Its address, which tells it from other nodes. */
  readonly name: string
  /** Sends a command without a key. */
  call(command: string, args: readonly RedisArgument[]): Promise<unknown>
  /**
   * Subscribes to a channel on a connection to this node, as {@link RedisPort.subscriber}. Only for nodes of a cluster;
   * where it is missing, a dead holder is replaced when its lease is over.
   */
  subscriber?(channel: string, events: SubscriberEvents): RedisSubscriber
  /**
   * Reports changes of keys in this node by any client (CLIENT TRACKING in BCAST mode), on a connection to it, as
   * {@link RedisPort.subscriber}. Where it is missing, `near.foreign` is refused.
   * @param prefix of the keys as they are in Redis, with {@link RedisPort.keyPrefix}
   */
  tracker?(prefix: string, events: TrackingEvents): RedisSubscriber
}

/** The reports of a tracker. None is made before it is returned. */
export interface TrackingEvents extends Omit<SubscriberEvents, 'message'> {
  /** These keys have changed, or are gone; `null`: the server was flushed. */
  readonly changed: (names: readonly Buffer[] | null) => void
}

/** The reports of a subscriber. None is made before the subscriber is returned. */
export interface SubscriberEvents {
  /** Its connection is open, for the first time or again. */
  readonly opened: () => void
  /** Its connection is lost, or could not be opened. */
  readonly lost: () => void
  /** Its connection has failed with this error. */
  readonly failed: (error: unknown) => void
  readonly message: (bytes: Buffer) => void
}

/** The connection on which this process receives messages. It does not keep the process alive after its end. */
export interface RedisSubscriber {
  /** Whether its connection is open. */
  readonly isOpen: boolean
  /** Subscribes, or asks the server for a sign that it still has the subscription; rejects if it is refused or lost. */
  subscribe(): Promise<unknown>
  /** Replaces its connection. */
  reconnect(): void
  /** Connects again if it is closed. */
  open(): void
  close(): void
}

/** Whether a reply is 1. */
export function isYes(reply: unknown): boolean {
  return Number(reply) === 1
}
