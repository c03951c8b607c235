import type { Redis, RedisOptions } from 'ioredis'
import type { Address } from '../ioredis.ts'

/** What a server answered: a reply, or an error. */
export type Answer = { readonly reply: unknown } | { readonly refused: string }

/** A server does not answer, or ends the connection: there is nothing that could be asked of it. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** An address as it is shown: without user and password. */
export function nameOf(address: Address): string {
  if ('path' in address) return address.path
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
}

/** How a server is reached. */
export interface Access {
  readonly address: Address
  readonly encrypted: boolean
  readonly password: boolean
}

/** Connects to servers with one set of credentials, and knows what of them must not be shown. */
export class Connections {
  readonly #client: typeof Redis
  readonly #options: RedisOptions
  readonly #patience: number
  readonly #open = new Set<Connection>()

  /**
   * @param client the class of ioredis
   * @param options how its clients are made, without the address
   * @param patience how long a server may take to answer, in milliseconds
   */
  constructor(client: typeof Redis, options: RedisOptions, patience: number) {
    this.#client = client
    this.#options = options
    this.#patience = patience
  }

  /**
   * A connection that is logged in.
   * @param login what is different from the options, such as other credentials
   * @throws Unreachable with what stood in the way
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

  /** How a server at this address is reached. */
  access(address: Address): Access {
    const { tls, password } = this.#options
    return { address, encrypted: tls !== undefined, password: typeof password === 'string' && password !== '' }
  }

  close(): void {
    for (const connection of this.#open) connection.close()
  }

  /** A server may repeat what it was sent in its error, the password too. */
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
    // The first one is the cause of those that follow.
    client.on('error', (error) => (this.#trouble ??= error))
  }

  /** Who is logged in, as far as the client knows. */
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

  /** The reply to a command; `undefined` where it is refused. */
  async reply(command: string, ...args: readonly (string | number)[]): Promise<unknown> {
    const answer = await this.ask(command, ...args)
    return 'reply' in answer ? answer.reply : undefined
  }

  /** The same of a reply that is a text; `''` where it is refused. */
  async text(command: string, ...args: readonly (string | number)[]): Promise<string> {
    const reply = await this.reply(command, ...args)
    return typeof reply === 'string' ? reply : ''
  }

  /**
   * What comes of something that is done with the client.
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
    // ioredis hangs the command on its errors, with the password in it: no cause.
    return new Unreachable(`${this.name}: ${this.#redacted(reason)}`)
  }
}
