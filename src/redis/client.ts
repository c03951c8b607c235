/**
 * What is used of a Redis client: `Redis` and `Cluster` of ioredis 5 and 6 have it, and so may others.
 * The client stays the user's: it is never configured, patched or closed.
 */
export interface RedisClient {
  getBuffer(key: string): Promise<Buffer | null>
  mgetBuffer(keys: string[]): Promise<(Buffer | null)[]>
  /** Sends any command; replies come as Buffers. */
  callBuffer(command: string, args: (string | Buffer | number)[]): Promise<unknown>
  script(subcommand: 'LOAD', script: string): Promise<unknown>
  publish(channel: string, message: string): Promise<unknown>
  time(): Promise<readonly (string | number)[]>
  /** Another connection with the same settings; for the subscription. */
  duplicate(): RedisSubscriber
  /** Whether keys live on several nodes. */
  readonly isCluster: boolean
  /** The nodes of a cluster: to list leases, and to notice that a master is another. */
  nodes?(role: 'master'): readonly RedisNode[]
  /** Tells when it is connected anew. */
  on?(event: 'ready', listener: () => void): unknown
  off?(event: 'ready', listener: () => void): unknown
}

/** One node of a cluster. */
export interface RedisNode extends Pick<RedisClient, 'callBuffer'> {
  readonly options?: { readonly host?: string | undefined; readonly port?: number | undefined }
}

/** The connection on which this process is told of outcomes. */
export interface RedisSubscriber {
  readonly status: string
  connect(): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  disconnect(reconnect?: boolean): void
  on(event: 'messageBuffer', listener: (channel: Buffer, message: Buffer) => void): unknown
  on(event: 'ready' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
}

/** What stands before all keys, so that names come without it and go with it; only what is not about a key has to know. */
export function keyPrefixOf(client: RedisClient): string {
  const { keyPrefix } = (client as { options?: { keyPrefix?: unknown } }).options ?? {}
  return typeof keyPrefix === 'string' ? keyPrefix : ''
}
