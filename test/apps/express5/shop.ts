import { createCache, type Cache } from 'herdless'
import { redisStore } from 'herdless/redis'
import type { Redis } from 'ioredis'
import type { Pool } from 'pg'

export class NotFoundError extends Error {
  override name = 'NotFoundError'
}

export interface Row {
  readonly id: number
  readonly name: string
}

/** The tables of the shop, behind a cache. */
export class Shop {
  readonly cache: Cache
  readonly #pool: Pool

  constructor(redis: Redis, pool: Pool, namespace = 'express5') {
    this.cache = createCache({ store: redisStore(redis), namespace, errors: [NotFoundError] })
    this.#pool = pool
  }

  async product(id: number): Promise<Row> {
    return await this.cache.getOrLoad(`product:${id}`, ({ signal }) => this.#row('products', id, signal), {
      ttl: '1s',
      grace: '10m',
      negativeTtl: '10s',
      errorKind: (error) => (error instanceof NotFoundError ? 'answer' : 'failure'),
    })
  }

  async customer(id: number): Promise<Row> {
    const options = { failureCooldown: '10s' } as const
    return await this.cache.getOrLoad(`customer:${id}`, ({ signal }) => this.#row('customers', id, signal), options)
  }

  async removeProduct(id: number): Promise<void> {
    await this.#pool.query('DELETE FROM products WHERE id = $1', [id])
    await this.cache.invalidate(`product:${id}`)
  }

  async #row(table: 'products' | 'customers', id: number, signal: AbortSignal): Promise<Row> {
    signal.throwIfAborted()
    const { rows } = await this.#pool.query<Row>(`SELECT id, name FROM ${table} WHERE id = $1`, [id])
    const [row] = rows
    if (row === undefined) throw new NotFoundError(`There is no ${id} in ${table}`)
    return row
  }
}
