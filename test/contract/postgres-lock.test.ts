import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { provisionPostgres } from '../../tools/servers/provision-postgres.mjs'
import { startPostgres } from '../../tools/servers/start-postgres.mjs'
import { postgresLock, type PostgresClient, type PostgresLockOptions } from '../../src/postgres/index.ts'
import { lockContract } from '../../src/testing/index.ts'
import { missing } from '../support/provided.ts'

const reason = await missing(provisionPostgres)
let server: Awaited<ReturnType<typeof startPostgres>>

beforeAll(async () => {
  if (reason === undefined) server = await startPostgres()
})
afterAll(() => server?.stop())

interface Opened {
  readonly client: PostgresClient
  readonly end: () => Promise<unknown>
}

function pool(): Opened {
  const client = new pg.Pool(server.address)
  return { client, end: () => client.end() }
}

function sql(): Opened {
  const { host, port, user, database } = server.address
  const client = postgres({ host, port, user, database, onnotice: () => {} })
  return { client, end: () => client.end() }
}

const kinds: readonly { name: string; connect: () => Opened; options: PostgresLockOptions }[] = [
  { name: 'pg', connect: pool, options: {} },
  { name: 'pg, polling', connect: pool, options: { wakeUp: 'poll' } },
  { name: 'pg, advisory', connect: pool, options: { advisory: true } },
  { name: 'postgres.js', connect: sql, options: {} },
  { name: 'postgres.js, polling', connect: sql, options: { wakeUp: 'poll' } },
]

describe.skipIf(reason !== undefined)(`in PostgreSQL${reason ? ` (${reason})` : ''}`, () => {
  for (const { name, connect, options } of kinds) {
    lockContract({
      name: `postgresLock on ${name}`,
      test,
      fences: options.advisory !== true,
      fair: options.advisory !== true,
      open: async () => {
        const opened = [connect(), connect()]
        const looking = new pg.Pool({ ...server.address, max: 1 })
        const query = 'SELECT count(*)::int AS waiting FROM herdless_lock_queue WHERE name = $1'
        return {
          waiting: async (name) => (await looking.query(query, [name])).rows[0].waiting,
          locks: opened.map(({ client }) => postgresLock(client, { commandTimeout: '1m', ...options })),
          close: async () =>
            void (await Promise.all([...opened, { end: () => looking.end() }].map(({ end }) => end()))),
        }
      },
      timeout: 60_000,
    })
  }
})
