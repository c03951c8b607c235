import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { openRedis } from '../../tools/servers/start-redis.mjs'
import { serveParent, startChild, stopChildren } from '../stampede-lab/children.mjs'
import { countCommands } from '../stampede-lab/command-counter.mjs'

/**
 * The common part of all steps: four processes of an app, a Redis, and a database (PostgreSQL compiled to WebAssembly) that counts
 * the reports it makes. A step defines the work of one caller; the same callers ask at the same moments in every step.
 *
 * @typedef {object} Given  what a process of the app has
 * @property {Redis} redis
 * @property {Pool} database
 * @property {() => Promise<unknown>} load  asks the database for the report
 *
 * @typedef {Record<string, (...given: any[]) => unknown> & { ask: (ttl: number) => Promise<unknown> }} App
 *   what can be asked of a process; `ask` is what one caller does; what it stores is to be fresh for `ttl` milliseconds
 *
 * @typedef {(given: Given) => App} SetUp  in each process
 *
 * @typedef {import('../stampede-lab/children.mjs').Child} Child
 *
 * @typedef {object} Round  what happened while callers asked
 * @property {unknown[]} answers
 * @property {{ name: string, code?: string }[]} errors
 * @property {number} slowest  milliseconds until the last caller of a process was answered
 */

const processes = 4
const callersOfEach = 5
const longest = 60_000

const schema = `
  create table sale (id int primary key, region int not null, cents int not null);
  insert into sale select i, i % 12, (i::bigint * 104729) % 10000 from generate_series(1, 50000) as i;
  analyze sale;
  create table state (edition int not null, is_broken boolean not null);
  insert into state values (1, false);
  create sequence queries minvalue 0;
  create function report() returns int language plpgsql as $$
  begin
    perform nextval('queries'); -- not rolled back if the query fails
    if (select is_broken from state) then raise exception 'the database is broken'; end if;
    for year in 1..3 loop
      perform region, count(*), sum(cents), round(avg(cents)) from sale group by region order by region;
    end loop;
    return (select edition from state);
  end $$;
`

/**
 * Runs a step: in the processes of the app, `setUp`; in the process that was started, all the rest.
 *
 * @param {SetUp} setUp
 * @param {(fleet: Fleet) => Promise<string[]>} [more]  what else is measured; resolves with lines to print
 */
export async function run(setUp, more = async () => []) {
  if (process.send !== undefined) return serve(setUp)
  const fleet = await Fleet.start()
  try {
    const { figures, lines } = await expiry(fleet)
    const told = [...lines, ...(await more(fleet))]
    if (process.argv.includes('--json')) console.log(JSON.stringify({ figures, told }))
    else console.log(told.join('\n'))
  } finally {
    await fleet.stop()
  }
}

/** @param {SetUp} setUp */
function serve(setUp) {
  const redis = new Redis(process.env['REDIS_URL'] ?? '', { connectionName: 'steps' })
  const database = new Pool({ max: callersOfEach })
  const load = async () => (await database.query('select report()')).rows[0].report
  const app = setUp({ redis, database, load })
  serveParent({
    ...app,
    /** @param {{ callers: number, what: string, given: unknown[], at: number }} round */
    async callers({ callers, what, given, at }) {
      await sleep(at - Date.now())
      const start = performance.now()
      const all = await Promise.allSettled(Array.from({ length: callers }, async () => app[what]?.(...given)))
      const slowest = performance.now() - start
      const answers = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      const errors = all.flatMap((one) =>
        one.status === 'rejected' ? [{ name: one.reason.name, code: one.reason.code }] : [],
      )
      return { answers, errors, slowest }
    },
    /** How long the database takes when nobody else asks. */
    async alone() {
      const times = []
      for (let time = 0; time < 5; time++) {
        const start = performance.now()
        await load()
        times.push(performance.now() - start)
      }
      return times.toSorted((one, other) => one - other)[2]
    },
    async end() {
      await app['close']?.()
      redis.disconnect()
      await database.end()
    },
  })
}

/** @param {Fleet} fleet */
async function expiry(fleet) {
  // Every process has its connections, and its value has expired.
  await fleet.all('ask', [100], 1)
  const alone = await fleet.alone()
  await sleep(150)
  const before = await fleet.queries()
  await fleet.commands.start()
  const first = await fleet.all('ask', [longest])
  // A caller that was given a stale value has not asked the database yet.
  while ((await fleet.queries()) === before) await sleep(5)
  await fleet.all('ask', [longest])
  const commands = await fleet.commands.stop()
  const queries = (await fleet.queries()) - before
  const callers = 2 * processes * callersOfEach
  return {
    figures: { callers, queries, commands, slowest: first.slowest, alone },
    lines: [
      `${callers} callers, half of them as the value expires: ${queries} ${queries === 1 ? 'query' : 'queries'}`,
      `the slowest was answered after ${Math.round(first.slowest)} ms; the database alone takes ${Math.round(alone)} ms`,
    ],
  }
}

export class Fleet {
  #stop
  #database
  #children
  commands

  /**
   * @param {PGlite} database
   * @param {Child[]} children
   * @param {import('../stampede-lab/command-counter.mjs').CommandCounter} commands
   * @param {() => Promise<void>} stop  all that serves them
   */
  constructor(database, children, commands, stop) {
    this.#database = database
    this.#children = children
    this.commands = commands
    this.#stop = stop
  }

  static async start() {
    const redis = await openRedis()
    const client = new Redis(redis.url)
    // The values of an earlier step.
    const left = client.scanStream({ match: '{steps:*', count: 1_000 })
    for await (const keys of left) await client.unlink('steps:report', ...keys)
    client.disconnect()
    const commands = await countCommands(redis.url, 'steps')
    const database = await PGlite.create()
    await database.exec(schema)
    const sockets = new PGLiteSocketServer({ db: database, host: '127.0.0.1', port: 0, maxConnections: 100 })
    await sockets.start()
    const port = sockets.getServerConn().split(':').at(-1) ?? ''
    const address = { PGHOST: '127.0.0.1', PGPORT: port, PGUSER: 'postgres', PGDATABASE: 'postgres' }
    Object.assign(process.env, { ...address, PGSSLMODE: 'disable', REDIS_URL: redis.url })
    const file = pathToFileURL(process.argv[1] ?? '').href
    const children = Array.from({ length: processes }, () => startChild(file))
    process.once('exit', stopChildren)
    return new Fleet(database, children, commands, async () => {
      commands.close()
      await sockets.stop()
      await database.close()
      await redis.stop()
    })
  }

  get #alive() {
    return this.#children.filter((child) => child.alive())
  }

  get first() {
    return /** @type {Child} */ (this.#children[0])
  }

  /**
   * Lets callers in all processes do the same at the same moment.
   * @param {string} what  a member of the App
   * @param {unknown[]} [given]
   * @param {number} [callers]  in each process
   * @returns {Promise<Round>}
   */
  async all(what, given = [], callers = callersOfEach) {
    const at = Date.now() + 30 // when the question has reached all of them
    /** @type {Round[]} */
    const rounds = await Promise.all(this.#alive.map((child) => child.ask('callers', { callers, what, given, at })))
    return {
      answers: rounds.flatMap(({ answers }) => answers),
      errors: rounds.flatMap(({ errors }) => errors),
      slowest: Math.max(...rounds.map(({ slowest }) => slowest)),
    }
  }

  /**
   * The first process of which this is true.
   * @param {(child: Child) => Promise<unknown>} isTrue
   */
  async find(isTrue) {
    for (;;) {
      for (const child of this.#children) if (await isTrue(child)) return child
      await sleep(5)
    }
  }

  /** @returns {Promise<number>} milliseconds */
  alone() {
    return this.first.ask('alone')
  }

  /** How many reports the database has been asked for. */
  async queries() {
    const { rows } = await this.#database.query('select last_value from queries')
    return Number(/** @type {{ last_value: number }} */ (rows[0]).last_value)
  }

  /** @param {string} set  of the table `state` */
  async change(set) {
    await this.#database.exec(`update state set ${set}`)
  }

  async stop() {
    await Promise.all(this.#alive.map((child) => child.ask('end')))
    await Promise.all(this.#children.map((child) => child.kill()))
    await this.#stop()
  }
}
