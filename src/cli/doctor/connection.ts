import { portOf } from '../../redis/clients/redis-client.ts'
import type { RedisClient } from '../../redis/index.ts'
import { reasonOf } from '../../redis/connection/unavailable-reason.ts'
import { connect } from '../connected.ts'
import { whyUnanswered, type AskedAt } from '../diagnosis.ts'
import type { Address, ClientLibrary, OwnClient, TargetWay } from '../library.ts'

/** The answer of a server: a reply, or an error. */
export type Reply = { readonly reply: unknown } | { readonly refused: string }

/** A server does not answer, or ends the connection. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** An address for display, without user and password. */
export function nameOf(address: Address): string {
  if ('path' in address) return address.path
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
}

/** The kind of access to a server. */
export interface Access {
  readonly address: Address
  readonly encrypted: boolean
  readonly password: boolean
}

/** Connects to servers with one set of credentials, and keeps them out of messages. */
export class Connections {
  readonly #library: ClientLibrary
  readonly #way: TargetWay
  readonly #timeout: number
  readonly #open = new Set<Connection>()

  /**
   * @param way the credentials and the encryption of all connections
   * @param timeout how long a server may take to answer, in milliseconds
   */
  constructor(library: ClientLibrary, way: TargetWay, timeout: number) {
    this.#library = library
    this.#way = way
    this.#timeout = timeout
  }

  /**
   * An authenticated connection.
   * @param login overrides of the way, such as other credentials
   * @throws Unreachable with the reason
   */
  async open(address: Address, login: Pick<TargetWay, 'username' | 'password'> = {}): Promise<Connection> {
    const way: TargetWay = { ...this.#way, ...login, kind: 'server', addresses: [address] }
    const own = this.#library.open(way, this.#timeout)
    const connection = new Connection(own, way, (text) => this.#redacted(text))
    this.#open.add(connection)
    await connection.connect(2 * this.#timeout)
    return connection
  }

  /** The client library of all connections. */
  get library(): ClientLibrary['name'] {
    return this.#library.name
  }

  /** The kind of access to the server at an address. */
  access(address: Address): Access {
    const { tls, password = '' } = this.#way
    return { address, encrypted: tls !== null, password: password !== '' }
  }

  close(): void {
    for (const connection of this.#open) connection.close()
  }

  /** A server's error may repeat the arguments of a command, including the password. */
  #redacted(text: string): string {
    const { password = '' } = this.#way
    return password === '' ? text : text.replaceAll(password, '***')
  }
}

/** A connection to one server, on which every command is answered, refused or given up. */
export class Connection {
  readonly name: string
  /** The user of the connection, as far as its URL says. */
  readonly user: string
  readonly #own: OwnClient
  readonly #asked: AskedAt
  readonly #redacted: (text: string) => string
  #trouble: unknown

  constructor(own: OwnClient, { addresses, username, tls }: TargetWay, redacted: (text: string) => string) {
    const address = addresses[0] as Address
    this.#own = own
    this.name = nameOf(address)
    this.user = username ?? 'default'
    this.#asked = { address, encrypted: tls !== null }
    this.#redacted = redacted
    // The first error is the cause of those that follow.
    own.onError((error) => (this.#trouble ??= error))
  }

  get client(): RedisClient {
    return this.#own.client
  }

  /** @throws Unreachable */
  async connect(timeout: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${timeout} ms`)), timeout)
    })
    try {
      await Promise.race([connect(this.#own), tooLate])
    } catch (error) {
      throw await this.#unreachable(error)
    } finally {
      clearTimeout(timer)
    }
  }

  /** @throws Unreachable */
  async ask(command: string, ...args: readonly (string | number)[]): Promise<Reply> {
    return this.attempt(() => this.#own.call(command, args))
  }

  /** @throws Unreachable */
  async subscribe(channel: string): Promise<Reply> {
    return this.attempt(() => this.#own.subscribe(channel))
  }

  /** Calls a listener at each message, and another one when the connection is lost. */
  listen(message: () => void, lost: () => void): void {
    this.#own.onMessage(message)
    this.#own.onLoss(lost)
  }

  /** The reply to a command; `undefined` if it is refused. */
  async reply(command: string, ...args: readonly (string | number)[]): Promise<unknown> {
    const answer = await this.ask(command, ...args)
    return 'reply' in answer ? answer.reply : undefined
  }

  /** The text reply to a command; `''` if it is refused. */
  async text(command: string, ...args: readonly (string | number)[]): Promise<string> {
    const reply = await this.reply(command, ...args)
    return typeof reply === 'string' ? reply : ''
  }

  /**
   * The answer to an operation of the client.
   * @throws Unreachable
   */
  async attempt(work: () => Promise<unknown>): Promise<Reply> {
    try {
      return { reply: await work() }
    } catch (error) {
      const isReply = error instanceof Error && portOf(this.client).isReply(error)
      // A server that wants a password refuses every command, and tells nothing.
      if (isReply && reasonOf(error) !== 'password') return { refused: this.#redacted(error.message) }
      throw await this.#unreachable(error)
    }
  }

  close(): void {
    this.#own.client.disconnect()
  }

  async #unreachable(error: unknown): Promise<Unreachable> {
    // A broken connection, or one without a login, is the consequence of an error that the client has reported before.
    const cause = ['closed', 'password'].includes(reasonOf(error)) ? (this.#trouble ?? error) : error
    // No cause: ioredis attaches the command to its errors, including the password.
    return new Unreachable(`${this.name}: ${this.#redacted(await whyUnanswered(cause, this.#asked))}`)
  }
}
