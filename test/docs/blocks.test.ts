import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import { provisionPostgres } from '../../tools/servers/provision-postgres.mjs'
import { provisionZooKeeper } from '../../tools/servers/provision-zookeeper.mjs'
import { startPostgres, type PostgresProcess } from '../../tools/servers/start-postgres.mjs'
import { startZooKeeper, type ZooKeeperProcess } from '../../tools/servers/start-zookeeper.mjs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missing } from '../support/provided.ts'
import { startNodes, startRedis, type RedisNodes, type RedisServer } from '../support/servers.ts'
import { BlockModules, flaw, isScript, needs, promised } from './blocks.ts'
import { docs, type Block } from './markdown.ts'
import { originalOf } from './translations.ts'

// A translation has the blocks of its original, byte for byte: chinese.test.ts holds it to that.
const blocks = docs()
  .filter(({ path }) => originalOf(path) === undefined)
  .flatMap((doc) => doc.blocks)
const scripts = blocks.filter(isScript)
const reasons = { PostgreSQL: await missing(provisionPostgres), ZooKeeper: await missing(provisionZooKeeper) }

test.for(blocks)('the block at $place says what language it is in', ({ language }) => {
  expect([...new Set(scripts.map((block) => block.language)), 'sh', 'text', 'diff', 'mermaid']).toContain(language)
})

test.for(scripts)('the code at $place says where it is run', (block) => {
  expect(flaw(block)).toBe(null)
})

describe('the code on the pages', () => {
  let redis: RedisServer
  let nodes: RedisNodes
  let postgres: PostgresProcess | undefined
  let zookeeper: ZooKeeperProcess | undefined
  let database: PGlite
  let sockets: PGLiteSocketServer
  let modules: BlockModules
  let env: Record<string, string>

  beforeAll(async () => {
    modules = await BlockModules.make(scripts)
    await modules.compile()
    redis = await startRedis()
    nodes = await startNodes(3)
    if (reasons.PostgreSQL === undefined) postgres = await startPostgres()
    if (reasons.ZooKeeper === undefined) zookeeper = await startZooKeeper()
    database = await PGlite.create()
    sockets = new PGLiteSocketServer({ db: database, host: '127.0.0.1', port: 0 })
    await sockets.start()
    const port = sockets.getServerConn().split(':').at(-1) ?? ''
    env = {
      REDIS_URL: redis.url,
      REDLOCK_PORTS: [...nodes].map(({ port }) => port).join(),
      PGHOST: '127.0.0.1',
      PGPORT: port,
      PGUSER: 'postgres',
      PGDATABASE: 'postgres',
      PGSSLMODE: 'disable',
    }
  })

  afterAll(async () => {
    await modules?.[Symbol.asyncDispose]()
    await sockets?.stop()
    await database?.close()
    await redis?.stop()
    await nodes?.stop()
    await postgres?.stop()
    await zookeeper?.stop()
  })

  /** What a block printed and how it ended, and what it was to. */
  async function outcome(block: Block, environment: Record<string, string>): Promise<{ is: unknown; wanted: unknown }> {
    await redis.client.flushall()
    const { code, output } = await modules.run(block, environment)
    const printed = output.split('\n').filter((line) => line !== '')
    const lines = promised(block)?.map((line) => expect.stringMatching(line) as string)
    return { is: { code, printed }, wanted: { code: 0, printed: lines ?? printed } }
  }

  test.for(scripts.filter((block) => !needs(block)))('at $place does what it says', async (block) => {
    const { is, wanted } = await outcome(block, env)
    expect(is).toEqual(wanted)
  })

  for (const [needed, reason] of Object.entries(reasons)) {
    describe.skipIf(reason !== undefined)(`in ${needed}${reason ? ` (${reason})` : ''}`, () => {
      test.for(scripts.filter((block) => needs(block) === needed))('at $place does what it says', async (block) => {
        const there = { PGPORT: String(postgres?.address.port), ZOOKEEPER: `127.0.0.1:${zookeeper?.address.port}` }
        const { is, wanted } = await outcome(block, { ...env, ...there })
        expect(is).toEqual(wanted)
      })
    })
  }
})
