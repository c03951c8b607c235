import type { RedisClient } from '../redis/index.ts'
import type { Target } from './target.ts'

/** The address of a server. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string }

/** The user, the encryption and the database of each connection. */
export interface Credentials {
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** Null without encryption. */
  readonly tls: { readonly ca?: string } | null
  readonly database: number
  /** The version of IP, if the URL says it. */
  readonly family?: number
}

/** The way to a target: its addresses, and the credentials for each. */
export interface TargetWay extends Credentials, Pick<Target, 'kind' | 'master'> {
  readonly addresses: readonly Address[]
}

/** A client of the command. It connects once, and a connection that breaks is not replaced. */
export interface OwnClient {
  readonly client: RedisClient & { disconnect(): unknown }
  connect(): Promise<unknown>
  /** Sends a command; strings in replies are strings. */
  call(command: string, args: readonly (string | number)[]): Promise<unknown>
  /** Subscribes to a channel on the connection of the client itself, which belongs to one server. */
  subscribe(channel: string): Promise<unknown>
  onMessage(listener: () => void): void
  /** Calls a listener at each error of its connections. */
  onError(listener: (error: unknown) => void): void
  /** Calls a listener when its connection is lost. */
  onLoss(listener: () => void): void
}

/** The library of Redis clients of the application. */
export interface ClientLibrary {
  readonly name: 'ioredis' | 'node-redis'
  /** Parses a URL as the library does, without a connection. */
  parse(url: string): Credentials & { readonly address: Address }
  /** @param timeout how long a connection or a command may take, in milliseconds */
  open(way: TargetWay, timeout: number): OwnClient
}
