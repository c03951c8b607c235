/** What the first block of docs/start.md finds: a product in a database. */
import { Pool } from 'pg'

const pool = new Pool()
await pool.query('drop table if exists product')
await pool.query('create table product (id int primary key, name text not null, cents int not null)')
await pool.query(`insert into product values (7, 'Wool mittens', 2400)`)
await pool.end()
