import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

import { serveParent } from './children.mjs'

const sales = Number(process.argv[2] ?? 60_000)

/**
 * The database, in a process of its own: PostgreSQL compiled to WebAssembly, behind a socket that speaks PostgreSQL's
 * protocol. It runs one query at a time, as a server with one core would; what comes meanwhile waits in line.
 */

const schema = `
  create table sale (id int primary key, region int not null, cents int not null);
  insert into sale
    select i, i % 12, (i::bigint * 104729) % 10000 from generate_series(1, ${sales}) as i;
  analyze sale;

  create table edition (number int not null);
  insert into edition values (1);

  create sequence queries minvalue 0;
  select nextval('queries');

  create function report(broken boolean default false) returns json language plpgsql as $$
  declare
    answer json;
  begin
    -- Counted here and not by those who ask. A sequence is never rolled back: a query that fails counts, too.
    perform nextval('queries');
    select json_agg(line) into answer from (
      select region, count(*) as sales, sum(cents) as cents, round(avg(cents)) as average
      from sale group by region order by region
    ) as line;
    if broken then raise exception 'the report is broken today'; end if;
    return answer;
  end $$;
`

/** @type {PGlite} */
let database

serveParent({
  async start() {
    database = await PGlite.create()
    await database.exec(schema)
    const server = new PGLiteSocketServer({ db: database, host: '127.0.0.1', port: 0, maxConnections: 1_000 })
    await server.start()
    const { rows } = await database.query('show server_version')
    return { port: Number(server.getServerConn().split(':').at(-1)), version: rows[0].server_version }
  },

  /** How many times the report was asked for since the start. */
  async queries() {
    const { rows } = await database.query('select last_value from queries')
    return Number(rows[0].last_value)
  },

  /** Changes the source: whatever is read from now on is of the next edition. Resolves with its number. */
  async edit() {
    const { rows } = await database.query('update edition set number = number + 1 returning number')
    return Number(rows[0].number)
  },
})
