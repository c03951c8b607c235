/** What the block marked `in=shop` finds: a database with a table. And what it must do: ask it once for all callers. */
import { deepEqual, equal } from 'node:assert/strict'
import { Pool } from 'pg'

const pool = new Pool()
await pool.query('drop table if exists best_sellers')
await pool.query('create table best_sellers (region text, title text)')
await pool.query(`insert into best_sellers values ('north', 'mittens'), ('south', 'sandals')`)
await pool.end()

let queries = 0
const query = /** @type {(this: Pool, ...args: unknown[]) => unknown} */ (Reflect.get(Pool.prototype, 'query'))
Reflect.set(
  Pool.prototype,
  'query',
  /**
   * @this {Pool}
   * @param {unknown[]} args
   */
  function (...args) {
    queries++
    return query.apply(this, args)
  },
)

/** @param {(region: string) => Promise<unknown>} bestSellers */
export async function check(bestSellers) {
  const answers = await Promise.all(Array.from({ length: 100 }, () => bestSellers('north')))
  deepEqual(answers, Array(100).fill([{ region: 'north', title: 'mittens' }]))
  deepEqual(await bestSellers('north'), [{ region: 'north', title: 'mittens' }])
  equal(queries, 1)
}
