/**
 * The required methods of a Redis client. `Redis` and `Cluster` of ioredis 5 and 6 have them, and other clients may.
 * The client belongs to the user: the store never configures, patches or closes it.
 */
export interface RedisClient {
  getBuffer(key: string): Promise<Buffer | null>
  mgetBuffer(keys: string[]): Promise<(Buffer | null)[]>
  /** Sends any command; replies arrive as Buffers. */
  callBuffer(command: string, args: (string | Buffer | number)[]): Promise<unknown>
  script(subcommand: 'LOAD', script: string): Promise<unknown>
  publish(channel: string, message: string): Promise<unknown>
  time(): Promise<readonly (string | number)[]>
  /** Another connection with the same settings, for the subscription. */
  duplicate(): RedisSubscriber
  /** Whether keys live on several nodes. */
  readonly isCluster: boolean
  /** The nodes of a cluster, to list leases and to notice a change of masters. */
  nodes?(role: 'master'): readonly RedisNode[]
  /** `'wait'`, `'connecting'` or `'connect'` until its first connection is open. */
  readonly status?: string
  /** Reports each new connection, and each that ends or fails. */
  on?(event: 'ready' | 'close', listener: () => void): unknown
  off?(event: 'ready' | 'close', listener: () => void): unknown
}

/** A node of a cluster. */
export interface RedisNode extends Pick<RedisClient, 'callBuffer'> {
  readonly options?: { readonly host?: string | undefined; readonly port?: number | undefined }
}

/** The connection on which this process receives messages. */
export interface RedisSubscriber {
  readonly status: string
  connect(): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  disconnect(reconnect?: boolean): void
  on(event: 'messageBuffer', listener: (channel: Buffer, message: Buffer) => void): unknown
  on(event: 'ready' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
}

/**
 * The prefix that the client adds to every key, but not to patterns. It stays in the names that replies and messages
 * carry.
 */
export function keyPrefixOf(client: RedisClient): string {
  const { keyPrefix } = (client as { options?: { keyPrefix?: unknown } }).options ?? {}
  return typeof keyPrefix === 'string' ? keyPrefix : ''
}

/** Whether a reply is 1. A client may return integers as strings. */
export function isYes(reply: unknown): boolean {
  return Number(reply) === 1
}
