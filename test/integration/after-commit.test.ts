import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { Redis } from 'ioredis'
import { provisionPostgres } from '../../tools/servers/provision-postgres.mjs'
import { startPostgres, type PostgresProcess } from '../../tools/servers/start-postgres.mjs'
import { createCache, type Cache, type CacheOptions } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { checkout } from '../../tools/command.mjs'
import { missing } from '../support/provided.ts'
import { createTable, play, type Judgement, type Moment } from './commit-schedules.ts'

const reason = await missing(provisionPostgres)
/** So many schedules run side by side, each on a row and a key of its own. */
const atOnce = 8
/** For a busy machine, in milliseconds. */
const patience = 120_000

describe.skipIf(reason !== undefined)(`a row in PostgreSQL${reason === undefined ? '' : ` (${reason})`}`, () => {
  let postgres: PostgresProcess
  let pool: pg.Pool
  const clients: Redis[] = []
  const caches: Cache[] = []

  beforeAll(async () => {
    postgres = await startPostgres()
    pool = new pg.Pool({ ...postgres.address, max: 3 * atOnce })
    await createTable(pool)
  })

  afterAll(async () => {
    await Promise.all(caches.map((cache) => cache.close()))
    for (const client of clients) client.disconnect()
    await pool?.end()
    await postgres?.stop()
  })

  function open(namespace: string, options: CacheOptions): Cache {
    const client = new Redis(inject('redisUrl'))
    const cache = createCache({ ttl: '1h', commandTimeout: '10s', ...options, namespace, store: redisStore(client) })
    clients.push(client)
    caches.push(cache)
    return cache
  }

  async function playAll(count: number, moment: Moment, options: CacheOptions = {}): Promise<Judgement[]> {
    const namespace = randomUUID()
    const two = [open(namespace, options), open(namespace, options)] as const
    const judgements: Judgement[] = []
    let next = 0
    const playSome = async (): Promise<void> => {
      for (let seed = next++; seed < count; seed = next++) {
        judgements.push(await play(seed, moment, { pool, caches: two }))
      }
    }
    await Promise.all(Array.from({ length: atOnce }, playSome))
    return judgements.toSorted((one, other) => one.seed - other.seed)
  }

  test.for<[string, CacheOptions]>([
    ['', {}],
    [' and copies in each process', { near: {} }],
  ])(
    'is never cached as it was, in a thousand schedules with collected changes%s',
    { timeout: patience },
    async ([, options]) => {
      const judgements = await playAll(1_000, 'after the commit', options)
      expect(judgements).toHaveLength(1_000)
      expect(judgements.filter(({ cachedOld, toldOld }) => cachedOld || toldOld)).toEqual([])
    },
  )

  test(
    'is cached as it was by many of those schedules that invalidate before the commit, always the same',
    { timeout: patience },
    async () => {
      const judgements = await playAll(1_000, 'at once')
      expect(judgements.filter(({ cachedOld }) => cachedOld).length).toBeGreaterThan(100)
      expect(await playAll(200, 'at once')).toEqual(judgements.slice(0, 200))
    },
  )

  test('is invalidated by the relay if its writer is killed between the commit and the invalidation', async () => {
    const { host, port, user, database } = postgres.address
    const there = { PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: database }
    const env = { ...process.env, ...there, REDIS_URL: inject('redisUrl') }
    const { stdout } = await promisify(execFile)(process.execPath, [join(checkout, 'examples/24-outbox.mjs')], { env })
    expect(stdout.trim().split('\n')).toEqual([
      'the writer has committed 12, and is killed: the cache has 10',
      'the relay has applied what the writer could not: the cache has 12',
    ])
  })
})
