import pg from 'pg'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { provisionPostgres } from '../../tools/servers/provision-postgres.mjs'
import { startPostgres, type PostgresProcess } from '../../tools/servers/start-postgres.mjs'
import { until } from '../../tools/until.mjs'
import type { Lock, LockLease } from '../../src/core/contract/lock.ts'
import { postgresLock, postgresLockSchema, type PostgresLockOptions } from '../../src/postgres/index.ts'
import { CriticalSection } from '../support/critical-section.ts'
import { startProxy } from '../support/proxy.ts'
import { missing } from '../support/provided.ts'

const reason = await missing(provisionPostgres)

describe.skipIf(reason !== undefined)(`a lock in PostgreSQL${reason === undefined ? '' : ` (${reason})`}`, () => {
  let server: PostgresProcess
  let admin: pg.Pool
  let opened: { lock: Lock; pool: pg.Pool }[] = []

  beforeAll(async () => {
    server = await startPostgres()
    admin = new pg.Pool(server.address)
  })

  afterEach(async () => {
    await Promise.all(opened.map(({ lock }) => lock.close()))
    await Promise.all(opened.map(({ pool }) => pool.end()))
    opened = []
  })

  afterAll(async () => {
    await admin?.end()
    await server?.stop()
  })

  /** A lock with a pool of its own, closed at the end of the test. */
  function open(options: PostgresLockOptions = {}, address: object = {}): Lock {
    const pool = new pg.Pool({ ...server.address, ...address })
    pool.on('error', () => {})
    const lock = postgresLock(pool, options)
    opened.push({ lock, pool })
    return lock
  }

  async function count(table: string, at = ''): Promise<number> {
    const { rows } = await admin.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${at}${table}`)
    return rows[0]?.n ?? Number.NaN
  }

  async function schema(name: string): Promise<string> {
    await admin.query(`CREATE SCHEMA ${pg.escapeIdentifier(name)}`)
    return name
  }

  test('is made on first use, by however many at once', async () => {
    const at = await schema('first "use')
    const locks = Array.from({ length: 8 }, () => open({ schema: at }))
    const section = new CriticalSection()
    await Promise.all(locks.map((lock) => lock.run('job', section.work, { wait: '10s' })))
    expect(section.most).toBe(1)
    expect(await count('herdless_locks', '"first ""use".')).toBe(0)
  })

  test('takes two queries where nobody else wants it', async () => {
    const lock = open()
    await lock.run('warm-up', () => {})
    const [{ pool } = { pool: admin }] = opened
    let queries = 0
    const query = pool.query.bind(pool)
    Object.assign(pool, { query: (...args: never[]) => (queries++, query(...(args as [never]))) })
    await lock.run('job', () => {})
    expect(queries).toBe(2)
  })

  test('may have any name', async () => {
    const names = ['x'.repeat(1_000), 'x'.repeat(1_001), 'ü'.repeat(60_000), 'a\0b', 'a', 'sha256:x', `'; --`, '键']
    const lock = open()
    const leases = await Promise.all(names.map((name) => lock.acquire(name)))
    expect(leases.map((lease) => lease.name)).toEqual(names)
    expect(await Promise.all(names.map((name) => lock.tryAcquire(name)))).toEqual(names.map(() => null))
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(names.map(() => 'released'))
  })

  test('tells its holder before it could be lost that the database does not answer', async () => {
    await using proxy = await startProxy(server.address)
    const lock = open({ ttl: 600, commandTimeout: 200 }, { port: proxy.port })
    // A busy machine may need longer than these 200 ms for the first connection.
    const lease: LockLease = await until('it has the lease', () => lock.tryAcquire('job'))
    const lost = new Promise((resolve) => lease.signal.addEventListener('abort', () => resolve(performance.now())))
    const from = performance.now()
    proxy.blackHole()
    expect(((await lost) as number) - from).toBeLessThan(700)
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    await expect(lock.tryAcquire('other')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    proxy.heal()
    proxy.cut()
    await until('it can be had again', () => lock.tryAcquire('other'))
  })

  test('comes to the next although the connection that listens was lost', async () => {
    const [one, other] = [open(), open()]
    const lease = await one.acquire('job')
    const next = other.acquire('job', { wait: '20s' })
    await until('it waits', async () => (await count('herdless_lock_queue')) === 1)
    const listening = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`
    expect((await admin.query(listening)).rowCount).toBe(2)
    await lease.release()
    expect((await next).isValid()).toBe(true)
  })

  test('leaves nothing behind but what the dead have left, and that not for long', async () => {
    const lock = open()
    const dead = `INSERT INTO herdless_locks VALUES ($1, 'somebody-s-token', 1, now() - interval '2 days')`
    await admin.query(dead, ['dead'])
    await admin.query(dead, ['long dead'])
    await lock.run('dead', (lease) => expect(lease.fence).toBeGreaterThan(0n))
    // One in a hundred sweeps.
    await until('it has been swept', async () => {
      await Promise.all(Array.from({ length: 20 }, (_, n) => lock.run(`job ${n}`, () => {})))
      return (await count(`herdless_locks WHERE until < now() - interval '1 day'`)) === 0
    })
    expect(await count('herdless_lock_queue')).toBe(0)
  })

  test('is not shortened by a renewal that its extension has overtaken', async () => {
    const lock = open({ ttl: 3_000 })
    const lease = await lock.acquire('job')
    const [{ pool } = { pool: admin }] = opened
    const query = pool.query.bind(pool)
    let go!: () => void
    const extended = new Promise<void>((resolve) => (go = resolve))
    let updates = 0
    const late: Promise<unknown>[] = []
    // Each query has a connection of its own: that of the first renewal takes long to open.
    const overtaken = (...args: [string, unknown[]]): Promise<unknown> => {
      if (!args[0].startsWith('UPDATE') || updates++ > 0) return query(...args)
      const renewed = extended.then(() => query(...args))
      late.push(renewed)
      return renewed
    }
    Object.assign(pool, { query: overtaken })
    await until('a renewal is on its way', () => updates === 1)
    expect(await lease.extend('1h')).toBe(true)
    go()
    await Promise.all(late)
    const left = `SELECT until > clock_timestamp() + interval '50 minutes' AS long FROM herdless_locks WHERE token = $1`
    expect((await admin.query(left, [lease.token])).rows).toEqual([{ long: true }])
  })

  test('that belongs to somebody else by now is not prolonged, and its holder is told', async () => {
    const lease = await open().acquire('job')
    await admin.query(`UPDATE herdless_locks SET token = 'theirs', until = now() + interval '5 s' WHERE name = 'job'`)
    expect(await lease.extend('1h')).toBe(false)
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    expect(await lease.release()).toBe('lost')
    const theirs = `DELETE FROM herdless_locks WHERE token = 'theirs' AND until < now() + interval '5 s'`
    expect((await admin.query(theirs)).rowCount).toBe(1)
  })

  test('that belongs to somebody else by now stays theirs, though its holder gives it back', async () => {
    const lease = await open().acquire('job')
    await admin.query(`UPDATE herdless_locks SET token = 'theirs', until = now() + interval '5 s' WHERE name = 'job'`)
    expect(await lease.release()).toBe('lost')
    expect((await admin.query(`DELETE FROM herdless_locks WHERE token = 'theirs'`)).rowCount).toBe(1)
  })

  test('works with a client that gives columns other names', async () => {
    const { host, port, user, database } = server.address
    const sql = postgres({ host, port, user, database, transform: { column: postgres.toPascal }, onnotice: () => {} })
    const lock = postgresLock(sql)
    const lease = await lock.acquire('job')
    expect(lease.fence).toBeGreaterThan(0n)
    expect(await lock.tryAcquire('job')).toBeNull()
    expect(await lease.extend()).toBe(true)
    expect(await lease.release()).toBe('released')
    await lock.close()
    await sql.end()
  })

  test('needs no right to create anything where it has been made before', async () => {
    const at = await schema('locks')
    await admin.query(postgresLockSchema(at))
    // Any number of times.
    await admin.query(postgresLockSchema(at))
    await admin.query(`DROP ROLE IF EXISTS app; CREATE ROLE app LOGIN;
      GRANT USAGE ON SCHEMA locks TO app;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA locks TO app;
      GRANT USAGE ON SEQUENCE locks.herdless_lock_fences TO app`)
    const [one, other] = [open({ schema: at }, { user: 'app' }), open({ schema: at }, { user: 'app' })]
    const lease = await one.acquire('job')
    const next = other.acquire('job', { fair: true })
    await until('it waits', async () => (await count('herdless_lock_queue', 'locks.')) === 1)
    expect(await lease.extend()).toBe(true)
    await lease.release()
    await (await next).release()
    await expect(open({}, { user: 'app' }).tryAcquire('job')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  describe('of a session', () => {
    const advisory = { advisory: true } as const

    test('is lost with its connection, and free for the next at once', async () => {
      const [one, other] = [open(advisory), open(advisory)]
      const lease = await one.acquire('job')
      const lost = new Promise((resolve) => lease.signal.addEventListener('abort', () => resolve(lease.signal.reason)))
      await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'`)
      expect(await lost).toMatchObject({ code: 'LEASE_LOST' })
      expect((await other.acquire('job')).isValid()).toBe(true)
      expect(await one.tryAcquire('job')).toBeNull()
      expect(await lease.release()).toBe('lost')
    })

    test('is not had twice by one process', async () => {
      const lock = open(advisory)
      const tries = await Promise.all(Array.from({ length: 10 }, () => lock.tryAcquire('job')))
      const [lease, ...more] = tries.filter((one) => one !== null)
      expect(more).toEqual([])
      // A session that has it several times must give it back as often.
      expect(await lease?.release()).toBe('released')
      expect((await open(advisory).acquire('job')).isValid()).toBe(true)
    })

    test('has no table, no order and no way to be told', () => {
      expect(() => postgresLock(admin, { advisory: true, schema: 'x' })).toThrow(TypeError)
      expect(() => postgresLock(admin, { advisory: true, fair: true })).toThrow(TypeError)
      expect(() => postgresLock(admin, { advisory: true, wakeUp: 'poll' })).toThrow(TypeError)
      const sql = postgres({ max: 1 })
      expect(() => postgresLock(sql, { advisory: true })).toThrow(/^Expected a Pool of pg for `advisory`/)
    })
  })

  test('wants a pool, or what postgres() returns', () => {
    for (const other of [undefined, null, {}, () => {}, new pg.Client(server.address)]) {
      expect(() => postgresLock(other as never)).toThrow(
        new TypeError('Expected a Pool of pg, or what postgres() returns'),
      )
    }
  })
})
