/** What the blocks marked `in=product` have before they begin: a product in PostgreSQL, its caches in two processes, and a reader. */
import { Pool } from 'pg'
import { atEnd } from './at-end.mjs'
import { cache, cacheOfAnotherProcess } from './cache.mjs'

export { cache }
export { lock } from './lock.mjs'

export const pool = new Pool()
atEnd(() => pool.end())
await pool.query('drop table if exists product, outbox')
await pool.query('create table product (id int primary key, cents int not null)')
await pool.query('insert into product values (7, 1000)')

export const loadProduct = async () => (await pool.query('select cents from product where id = 7')).rows[0].cents

/** A reader in another process. */
export const readElsewhere = () => cacheOfAnotherProcess.getOrLoad('product:7', loadProduct, { ttl: '1h' })

/**
 * Commits when the work resolves, and rolls back when it throws.
 * @param {(client: import('pg').PoolClient) => Promise<unknown>} work
 */
export async function transaction(work) {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await work(client)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}
