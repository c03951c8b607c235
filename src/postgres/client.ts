/**
 * What is used of a PostgreSQL client: a `Pool` of `pg`, or what `postgres` (postgres.js) returns. It stays the user's: it
 * is never configured or ended.
 */
export type PostgresClient = PgPool | PostgresJs

/** What is used of a `Pool` of `pg`. */
export interface PgPool {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
  /** What its connections are made with: ours are made with the same. */
  readonly options: object
}

/** What is used of `sql` of postgres.js. */
export interface PostgresJs {
  unsafe(text: string, values?: never[]): PromiseLike<unknown>
  listen(
    channel: string,
    hear: (payload: string) => void,
    listening: () => void,
  ): Promise<{ unlisten(): Promise<unknown> }>
}

/** A connection of `pg`. */
interface PgConnection {
  connect(): Promise<unknown>
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
  end(): Promise<unknown>
  on(event: 'notification', hear: (message: { channel: string; payload?: string | undefined }) => void): unknown
  on(event: 'error' | 'end', hear: () => void): unknown
}

/** The values of a row, in order: a client may be set to give columns other names. */
export type Row = readonly unknown[]

/** A connection of our own. */
export interface Session {
  query(text: string, values: readonly unknown[]): Promise<Row[]>
  end(): void
}

/** A database, whichever client leads to it. */
export interface Database {
  query(text: string, values: readonly unknown[]): Promise<Row[]>
  /** Several statements at once, in one transaction. */
  script(text: string): Promise<void>
  /**
   * Listens until it is ended.
   * @param listening called when it listens, and again when it does after the connection was lost
   * @param lost called when it listens no more
   */
  listen(channel: string, hear: (payload: string) => void, listening: () => void, lost: () => void): { end(): void }
  /** Opens a connection of our own, and calls `lost` when it breaks; `null` where the client has none to give. */
  readonly session: ((lost: () => void) => Promise<Session>) | null
}

/** How long after a lost connection the next is tried, in milliseconds. */
const reconnectAfter = 500

/** @throws TypeError for something that is neither */
export function databaseOf(client: PostgresClient): Database {
  if (isPostgresJs(client)) return new PostgresJsDatabase(client)
  if (isPgPool(client)) return new PgDatabase(client)
  throw new TypeError('Expected a Pool of pg, or what postgres() returns')
}

function isPostgresJs(client: unknown): client is PostgresJs {
  return typeof client === 'function' && has(client, ['unsafe', 'listen'])
}

function isPgPool(client: unknown): client is PgPool {
  // A single client has `query` too, but it makes no others.
  return typeof client === 'object' && client !== null && has(client, ['query', 'Client'])
}

function has(client: object, methods: readonly string[]): boolean {
  return methods.every((name) => typeof (client as Record<string, unknown>)[name] === 'function')
}

class PgDatabase implements Database {
  readonly #pool: PgPool

  constructor(pool: PgPool) {
    this.#pool = pool
  }

  async query(text: string, values: readonly unknown[]): Promise<Row[]> {
    return rowsOf((await this.#pool.query(text, [...values])).rows)
  }

  async script(text: string): Promise<void> {
    await this.#pool.query(text)
  }

  listen(channel: string, hear: (payload: string) => void, listening: () => void, lost: () => void): { end(): void } {
    let connection: PgConnection | null = null
    let timer: NodeJS.Timeout | undefined
    let ended = false
    const again = (from: PgConnection): void => {
      if (ended || from !== connection) return
      connection = null
      lost()
      end(from)
      timer = setTimeout(begin, reconnectAfter)
      timer.unref()
    }
    const begin = (): void => {
      const mine = (connection = this.#connection())
      mine.on('notification', (message) => {
        if (message.channel === channel) hear(message.payload ?? '')
      })
      mine.on('error', () => again(mine))
      mine.on('end', () => again(mine))
      mine
        .connect()
        .then(() => mine.query(`LISTEN "${channel}"`))
        .then(
          () => void (mine === connection && listening()),
          () => again(mine),
        )
    }
    begin()
    return {
      end: () => {
        ended = true
        clearTimeout(timer)
        if (connection !== null) end(connection)
      },
    }
  }

  readonly session = async (lost: () => void): Promise<Session> => {
    const connection = this.#connection()
    connection.on('error', lost)
    connection.on('end', lost)
    await connection.connect()
    // A connection of pg wants to be asked one thing after the other.
    let last: Promise<unknown> = Promise.resolve()
    return {
      query: (text, values) => {
        const asked = last.then(async () => rowsOf((await connection.query(text, [...values])).rows))
        last = asked.catch(() => undefined)
        return asked
      },
      end: () => end(connection),
    }
  }

  /** Outside of the pool: what is held for long must not be one of the few that all others share. */
  #connection(): PgConnection {
    const { Client } = this.#pool as unknown as { Client: new (options: object) => PgConnection }
    return new Client(this.#pool.options)
  }
}

function end(connection: PgConnection): void {
  connection.end().catch(() => undefined)
}

class PostgresJsDatabase implements Database {
  // What it reserves may go on as another connection, without a word.
  readonly session = null
  readonly #sql: PostgresJs

  constructor(sql: PostgresJs) {
    this.#sql = sql
  }

  async query(text: string, values: readonly unknown[]): Promise<Row[]> {
    return rowsOf((await this.#sql.unsafe(text, values as never[])) as object[])
  }

  async script(text: string): Promise<void> {
    await this.#sql.unsafe(text)
  }

  listen(channel: string, hear: (payload: string) => void, up: () => void): { end(): void } {
    // It listens again by itself when its connection was lost.
    const listened = this.#sql.listen(channel, hear, up)
    listened.catch(() => undefined)
    return {
      end: () => void listened.then((listening) => listening.unlisten()).catch(() => undefined),
    }
  }
}

function rowsOf(rows: readonly unknown[]): Row[] {
  return [...rows].map((row) => Object.values(row as object))
}
