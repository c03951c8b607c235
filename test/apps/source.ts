import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { startPostgres, type PostgresProcess } from '../../tools/servers/start-postgres.mjs'

/** What an app asks for its products and customers. Each exists under the numbers 1 to 99. */
export interface Source {
  /** How an app finds it. */
  readonly env: Record<string, string>
  /** Keeps all answers back until the returned function is called, for the first time or again. */
  hold(): Promise<() => Promise<void>>
  /** Removes a product; no app is told. */
  removeProduct(id: number): Promise<void>
  close(): Promise<void>
}

/** A database. */
export class Database implements Source {
  readonly env: Record<string, string>
  readonly #server: PostgresProcess
  readonly #pool: pg.Pool

  private constructor(server: PostgresProcess, pool: pg.Pool) {
    this.#server = server
    this.#pool = pool
    const { host, port, user, database } = server.address
    this.env = { PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: database }
  }

  static async open(): Promise<Database> {
    const server = await startPostgres()
    const pool = new pg.Pool(server.address)
    for (const table of ['products', 'customers']) {
      await pool.query(`CREATE TABLE ${table} (id int PRIMARY KEY, name text NOT NULL)`)
      await pool.query(`INSERT INTO ${table} SELECT id, '${table} ' || id FROM generate_series(1, 99) AS id`)
    }
    return new Database(server, pool)
  }

  async hold(): Promise<() => Promise<void>> {
    const client = await this.#pool.connect()
    await client.query('BEGIN; LOCK TABLE products, customers IN ACCESS EXCLUSIVE MODE')
    let isHeld = true
    return async () => {
      if (!isHeld) return
      isHeld = false
      await client.query('COMMIT')
      client.release()
    }
  }

  async removeProduct(id: number): Promise<void> {
    await this.#pool.query('DELETE FROM products WHERE id = $1', [id])
  }

  async close(): Promise<void> {
    await this.#pool.end()
    await this.#server.stop()
  }
}

/** A service. `/removed/<id>` removes a product. */
export class Service implements Source {
  readonly env: Record<string, string>
  readonly #server: Server
  readonly #removed = new Set<string>()
  #held: Promise<void> | undefined

  private constructor() {
    this.#server = createServer(async (request, response) => {
      await this.#held
      const [, kind = '', id = ''] = (request.url ?? '').split('/')
      if (kind === 'removed') this.#removed.add(id)
      const isThere = Number(id) < 100 && !(kind === 'products' && this.#removed.has(id))
      response.writeHead(isThere ? 200 : 404, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(isThere ? { id: Number(id), name: `${kind} ${id}` } : {}))
    })
    this.env = {}
  }

  static async open(): Promise<Service> {
    const service = new Service()
    service.#server.listen(0, '127.0.0.1')
    await once(service.#server, 'listening')
    service.env['CATALOGUE_URL'] = `http://127.0.0.1:${(service.#server.address() as AddressInfo).port}`
    return service
  }

  async hold(): Promise<() => Promise<void>> {
    let release!: () => void
    this.#held = new Promise((resolve) => (release = resolve))
    return async () => {
      this.#held = undefined
      release()
    }
  }

  async removeProduct(id: number): Promise<void> {
    this.#removed.add(String(id))
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
