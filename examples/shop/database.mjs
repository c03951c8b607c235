import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

/** PostgreSQL compiled to WebAssembly, with what the shop has on its shelves, behind a socket for all processes. */

const schema = `
  create table product (id int primary key, name text not null, cents int not null, made int not null default 0);
  insert into product values
    (1, 'Wool mittens', 2400), (2, 'Sandals', 3900), (3, 'Raincoat', 8900), (4, 'Straw hat', 1900), (5, 'Scarf', 2900);
  create table cart (visitor text, product int references product, pieces int, primary key (visitor, product));
`

export async function startDatabase() {
  const database = await PGlite.create()
  await database.exec(schema)
  const server = new PGLiteSocketServer({ db: database, host: '127.0.0.1', port: 0, maxConnections: 100 })
  await server.start()
  return {
    /** Where it is, in the variables that pg reads. */
    env: {
      PGHOST: '127.0.0.1',
      PGPORT: server.getServerConn().split(':').at(-1) ?? '',
      PGUSER: 'postgres',
      PGDATABASE: 'postgres',
      PGSSLMODE: 'disable',
    },
    /** How often the page of each product has been made. */
    async made() {
      const { rows } = await database.query('select made from product order by id')
      return rows.map((row) => /** @type {{ made: number }} */ (row).made)
    },
    async stop() {
      await server.stop()
      await database.close()
    },
  }
}
