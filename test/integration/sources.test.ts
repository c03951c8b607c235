import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { provisionPostgres } from '../../tools/servers/provision-postgres.mjs'
import { startPostgres, type PostgresProcess } from '../../tools/servers/start-postgres.mjs'
import { until } from '../../tools/until.mjs'
import { CommandCounter, withoutCare } from '../support/command-counts.ts'
import { patient, startFleet, type Fleet, type Flooded } from '../support/fleet.ts'
import { missing } from '../support/provided.ts'
import { startRedis } from '../support/servers.ts'

const limit = 20
const reason = await missing(provisionPostgres)

describe.skipIf(reason !== undefined)(`a source with a limit${reason === undefined ? '' : ` (${reason})`}`, () => {
  let postgres: PostgresProcess

  beforeAll(async () => {
    postgres = await startPostgres()
  })

  afterAll(async () => {
    await postgres?.stop()
  })

  /** Four processes whose loads are queries, each counted by the database. */
  async function open(redis: { readonly address: object }, cache: object = {}): Promise<Fleet> {
    const sources = { pg: { concurrency: limit } }
    return await startFleet({
      processes: 4,
      redis: { options: redis.address },
      cache: { ...patient, commandTimeout: '2s', source: 'pg', sources, ...cache },
    })
  }

  /** Asks for keys of its own in each process. */
  function flood({ members }: Pick<Fleet, 'members'>, name: string, keys: number, ms: number): Promise<Flooded>[] {
    return members.map((member) =>
      member.flood({ keys, callers: 1, ms, prefix: `${name}${member.number}:`, postgres: postgres.address }),
    )
  }

  /** The same, where no query ends before more than half of those that the source allows run at a time. */
  async function floodTogether(...flooded: Parameters<typeof flood>): Promise<Flooded[]> {
    const gate = new pg.Client(postgres.address)
    await gate.connect()
    await gate.query('SELECT pg_advisory_lock(1)')
    const running = async (): Promise<number> =>
      (await gate.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")).rowCount ?? 0
    const opened = until('more than half run', async () => (await running()) > limit / 2).finally(() => gate.end())
    const [floods] = await Promise.all([Promise.all(flood(...flooded)), opened])
    return floods
  }

  const mostOf = (floods: readonly Flooded[]): number => Math.max(...floods.map(({ most }) => most))

  test('gets no more queries at a time from a whole fleet, and loads each key once', async () => {
    await using redis = await startRedis()
    await using fleet = await open(redis)
    const floods = await floodTogether(fleet, 'cold', 250, 10)
    expect(floods.map(({ right, loads, errors }) => [right, loads, errors])).toEqual(floods.map(() => [250, 250, {}]))
    expect(mostOf(floods)).toBeGreaterThan(limit / 2)
    expect(mostOf(floods)).toBeLessThanOrEqual(limit)
    expect(await fleet.heard('queued')).toBe(1_000)
  })

  test('costs at most two commands a load more than one without a limit, as the server counts them', async () => {
    const perLoad = async (cache: object): Promise<number> => {
      await using redis = await startRedis()
      await using fleet = await open(redis, cache)
      const counter = await CommandCounter.start(redis.client)
      const floods = await Promise.all(flood(fleet, 'counted', 250, 10))
      expect(floods.map(({ loads }) => loads)).toEqual(floods.map(() => 250))
      const counts = Object.values(withoutCare(await counter.counts()))
      return counts.reduce((sum, count) => sum + count, 0) / 1_000
    }
    const without = await perLoad({ source: undefined, sources: undefined })
    expect((await perLoad({})) - without).toBeLessThanOrEqual(2)
  })

  test('gets no more than twice as many while processes die and stand still and Redis is flushed, and then the limit again', async () => {
    await using redis = await startRedis()
    await using fleet = await open(redis)
    const [killed, paused, ...others] = fleet.members
    if (killed === undefined || paused === undefined) throw new Error('Expected four')
    const floods = flood(fleet, 'fault', 100, 30)
    const lost = floods[0]?.catch(() => null)
    await until('loads run', async () => (await fleet.heard('load', others)) > 20)
    await killed.process.kill()
    paused.process.pause()
    await until('the others go on', async () => (await fleet.heard('load', others)) > 60)
    await redis.client.flushall()
    await until('the others go on', async () => (await fleet.heard('load', others)) > 120)
    paused.process.resume()
    const ended = await Promise.all(floods.slice(1))
    await lost
    expect(ended.map(({ right }) => right)).toEqual([100, 100, 100])
    expect(mostOf(ended)).toBeLessThanOrEqual(2 * limit)
    const after = await floodTogether({ members: [paused, ...others] }, 'after', 100, 10)
    expect(after.map(({ right }) => right)).toEqual([100, 100, 100])
    expect(mostOf(after)).toBeLessThanOrEqual(limit)
    expect(mostOf(after)).toBeGreaterThan(limit / 2)
  })
})
