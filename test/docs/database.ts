import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import { provisionPostgres } from '../../tools/servers/provision-postgres.mjs'
import { startPostgres } from '../../tools/servers/start-postgres.mjs'
import { missing } from '../support/provided.ts'

/** A database for programs that are told where it is by the variables of PostgreSQL. */
export interface Database {
  readonly env: Record<string, string>
  stop(): Promise<void>
}

/** PostgreSQL; where there is none, as WebAssembly in this process, which has one session for all connections. */
export async function startDatabase(): Promise<Database> {
  if ((await missing(provisionPostgres)) === undefined) {
    const server = await startPostgres()
    return { env: variables(server.address.port), stop: () => server.stop() }
  }
  const database = await PGlite.create()
  const sockets = new PGLiteSocketServer({ db: database, host: '127.0.0.1', port: 0, maxConnections: 100 })
  await sockets.start()
  return {
    env: variables(Number(sockets.getServerConn().split(':').at(-1))),
    async stop() {
      await sockets.stop()
      await database.close()
    },
  }
}

function variables(port: number): Record<string, string> {
  return {
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    PGUSER: 'postgres',
    PGDATABASE: 'postgres',
    PGSSLMODE: 'disable',
  }
}
