/** What the blocks marked `in=orders` have before they begin: a lock, and a database with an order. */
import { Pool } from 'pg'
import { atEnd } from './at-end.mjs'

export { lock } from './lock.mjs'

export const db = new Pool({ max: 1 })
atEnd(() => db.end())
await db.query('drop table if exists orders')
await db.query('create table orders (id int, state text, fence bigint)')
await db.query(`insert into orders values (1, 'paid', 0)`)
