import { timers } from '../core/time/clock.ts'

/**
 * A PostgreSQL client: a `Pool` of `pg`, or the `sql` of `postgres` (postgres.js). It belongs to the user: the lock
 * never configures or ends it.
 */
export type PostgresClient = PgPool | PostgresJs

/** The required members of a `Pool` of `pg`. */
export interface PgPool {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
  /** The options of its connections; the lock's own connections use the same. */
  readonly options: object
}

/** The required members of the `sql` of postgres.js. */
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

/** The values of a row, in order, because a client may rename columns. */
export type Row = readonly unknown[]

/** A connection of the lock's own. */
export interface LockSession {
  query(text: string, values: readonly unknown[]): Promise<Row[]>
  end(): void
}

/** A database, behind either client. */
export interface Database {
  query(text: string, values: readonly unknown[]): Promise<Row[]>
  /** Runs several statements in one transaction. */
  script(text: string): Promise<void>
  /**
   * Listens on a channel until `end`.
   * @param listening called when it listens, also after a lost connection
   * @param lost called when it no longer listens
   */
  listen(channel: string, hear: (payload: string) => void, listening: () => void, lost: () => void): { end(): void }
  /** Opens a connection of its own and calls `lost` when it breaks; `null` if the client cannot provide one. */
  readonly session: ((lost: () => void) => Promise<LockSession>) | null
}

/** The pause after a lost connection, in milliseconds. */
const reconnectAfter = 500

/**
 * The database behind a client.
 * @throws TypeError for another kind of client
 */
export function databaseOf(client: PostgresClient): Database {
  if (isPostgresJs(client)) return new PostgresJsDatabase(client)
  if (isPgPool(client)) return new PgDatabase(client)
  throw new TypeError('Expected a Pool of pg, or what postgres() returns')
}

function isPostgresJs(client: unknown): client is PostgresJs {
  return typeof client === 'function' && has(client, ['unsafe', 'listen'])
}

function isPgPool(client: unknown): client is PgPool {
  // A single client has `query` too, but cannot make further connections.
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
      timer = timers.setTimeout(begin, reconnectAfter)
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
        timers.clearTimeout(timer)
        if (connection !== null) end(connection)
      },
    }
  }

  readonly session = async (lost: () => void): Promise<LockSession> => {
    const connection = this.#connection()
    connection.on('error', lost)
    connection.on('end', lost)
    await connection.connect()
    // A connection of pg runs one query at a time.
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

  /** Outside of the pool: a long-held connection must not occupy one of the few that the application shares. */
  #connection(): PgConnection {
    const { Client } = this.#pool as unknown as { Client: new (options: object) => PgConnection }
    return new Client(this.#pool.options)
  }
}

function end(connection: PgConnection): void {
  connection.end().catch(() => undefined)
}

class PostgresJsDatabase implements Database {
  // A reserved connection of postgres.js may be replaced by another one unnoticed.
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
    // postgres.js listens again by itself after a lost connection.
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
