import type { Redis, RedisOptions } from 'ioredis'
import type { Address } from '../ioredis.ts'

/** The answer of a server: a reply, or an error. */
export type Answer = { readonly reply: unknown } | { readonly refused: string }

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
  readonly #client: typeof Redis
  readonly #options: RedisOptions
  readonly #patience: number
  readonly #open = new Set<Connection>()

  /**
   * @param client the class of ioredis
   * @param options the options of its clients, without the address
   * @param patience how long a server may take to answer, in milliseconds
   */
  constructor(client: typeof Redis, options: RedisOptions, patience: number) {
    this.#client = client
    this.#options = options
    this.#patience = patience
  }

  /**
   * An authenticated connection.
   * @param login overrides of the options, such as other credentials
   * @throws Unreachable with the reason
   */
  async open(address: Address, login: Pick<RedisOptions, 'username' | 'password'> = {}): Promise<Connection> {
    const client = new this.#client({
      ...this.#options,
      ...address,
      ...login,
      replyMapping: 'legacy',
      lazyConnect: true,
      enableReadyCheck: false,
      disableClientInfo: true,
      retryStrategy: () => null,
      reconnectOnError: null,
      connectTimeout: this.#patience,
      commandTimeout: this.#patience,
      disconnectTimeout: 100,
    })
    const connection = new Connection(client, nameOf(address), (text) => this.#redacted(text))
    this.#open.add(connection)
    await connection.connect(2 * this.#patience)
    return connection
  }

  /** The kind of access to the server at an address. */
  access(address: Address): Access {
    const { tls, password } = this.#options
    return { address, encrypted: tls !== undefined, password: typeof password === 'string' && password !== '' }
  }

  close(): void {
    for (const connection of this.#open) connection.close()
  }

  /** A server's error may repeat the arguments of a command, including the password. */
  #redacted(text: string): string {
    const { password } = this.#options
    return password === undefined || password === null || password === '' ? text : text.replaceAll(password, '***')
  }
}

/** A connection to one server, on which every command is answered, refused or given up. */
export class Connection {
  readonly name: string
  readonly client: Redis
  readonly #redacted: (text: string) => string
  #trouble: unknown

  constructor(client: Redis, name: string, redacted: (text: string) => string) {
    this.client = client
    this.name = name
    this.#redacted = redacted
    // The first error is the cause of those that follow.
    client.on('error', (error) => (this.#trouble ??= error))
  }

  /** The user of the connection, as far as the client knows. */
  get user(): string {
    return this.client.options.username ?? 'default'
  }

  /** @throws Unreachable */
  async connect(patience: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${patience} ms`)), patience)
    })
    try {
      await Promise.race([this.client.connect(), tooLate])
    } catch (error) {
      throw this.#unreachable(this.#trouble ?? error)
    } finally {
      clearTimeout(timer)
    }
  }

  /** @throws Unreachable */
  async ask(command: string, ...args: readonly (string | number)[]): Promise<Answer> {
    return this.attempt(() => this.client.call(command, [...args]))
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
  async attempt(work: () => Promise<unknown>): Promise<Answer> {
    try {
      return { reply: await work() }
    } catch (error) {
      if (error instanceof Error && error.name === 'ReplyError') return { refused: this.#redacted(error.message) }
      throw this.#unreachable(error)
    }
  }

  close(): void {
    this.client.disconnect()
  }

  #unreachable(error: unknown): Unreachable {
    const { message, code } = error instanceof Error ? (error as Error & { code?: string }) : { message: String(error) }
    const reason = message === '' ? (code ?? 'unknown error') : message
    // No cause: ioredis attaches the command to its errors, including the password.
    return new Unreachable(`${this.name}: ${this.#redacted(reason)}`)
  }
}
