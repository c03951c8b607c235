import { provisionPostgres } from '../../tools/servers/provision-postgres.mjs'
import { provisionZooKeeper } from '../../tools/servers/provision-zookeeper.mjs'
import { startZooKeeper, type ZooKeeperProcess } from '../../tools/servers/start-zookeeper.mjs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missing } from '../support/provided.ts'
import { startNodes, startRedis, type RedisNodes, type RedisServer } from '../support/servers.ts'
import { startDatabase, type Database } from './database.ts'
import { BlockModules, flaw, isScript, needs, promised, serves } from './blocks.ts'
import { docs, type Block } from './markdown.ts'
import { asked, freePort, serve } from './serve.ts'
import { originalOf } from './translations.ts'

// A translation has the blocks of its original, byte for byte: chinese.test.ts holds it to that.
const pages = docs().filter(({ path, blocks }) => originalOf(path) === undefined && blocks.length > 0)
const scripts = pages.flatMap(({ blocks }) => blocks).filter(isScript)

/** What these print is decided by real time, of which they give less than a second: a busy machine needs more. By night they are run, too. */
const isByTheClock = ({ code }: Block): boolean => /'\d+ms'|[tT]imeout: \d{1,3}\b/.test(code)
const chosen = scripts.filter((block) => process.env['THOROUGH'] === 'yes' || !isByTheClock(block))

const reasons = { PostgreSQL: await missing(provisionPostgres), ZooKeeper: await missing(provisionZooKeeper) }

test.for(pages)('every block of $path says what language it is in, and code says where it is run', ({ blocks }) => {
  const known = ['js', 'ts', 'sh', 'text', 'diff', 'mermaid']
  const flaws = blocks.map((block) => (isScript(block) || !known.includes(block.language) ? flaw(block) : null))
  expect(blocks.flatMap(({ place }, index) => (flaws[index] === null ? [] : [`${place}: ${flaws[index]}`]))).toEqual([])
})

test('code fits into a page: at most 76 columns, but for imports and for what is printed', () => {
  const wide = scripts.flatMap(({ place, language, code }) =>
    code
      .split('\n')
      .filter((line) => line.length > (language === 'diff' ? 77 : 76) && !/^import |\/\/ → /.test(line))
      .map((line) => `${place}: ${line}`),
  )
  expect(wide).toEqual([])
})

describe('the code on the pages', () => {
  let redis: RedisServer
  let nodes: RedisNodes
  let zookeeper: ZooKeeperProcess | undefined
  let database: Database
  let modules: BlockModules
  let env: Record<string, string>

  beforeAll(async () => {
    modules = await BlockModules.make(scripts)
    await modules.compile()
    redis = await startRedis()
    nodes = await startNodes(3)
    if (reasons.ZooKeeper === undefined) zookeeper = await startZooKeeper()
    database = await startDatabase()
    env = {
      REDIS_URL: redis.url,
      REDLOCK_PORTS: [...nodes].map(({ port }) => port).join(),
      ZOOKEEPER: `127.0.0.1:${zookeeper?.address.port}`,
      ...database.env,
    }
  })

  afterAll(async () => {
    await modules?.[Symbol.asyncDispose]()
    await database?.stop()
    await redis?.stop()
    await nodes?.stop()
    await zookeeper?.stop()
  })

  /** What a block printed and how it ended, and what it was to. */
  async function outcome(block: Block): Promise<{ is: unknown; wanted: unknown }> {
    await redis.client.flushall()
    const { code, output } = await modules.run(block, env)
    const printed = output.split('\n').filter((line) => line !== '')
    const lines = promised(block)?.map((line) => expect.stringMatching(line) as string)
    return { is: { code, printed }, wanted: { code: 0, printed: lines ?? printed } }
  }

  test.for(chosen.filter((block) => !needs(block) && !serves(block)))('at $place does what it says', async (block) => {
    const { is, wanted } = await outcome(block)
    expect(is).toEqual(wanted)
  })

  test.for(chosen.filter(serves))('at $place serves pages, and ends when it is told to', async (block) => {
    await redis.client.flushall()
    const port = await freePort()
    const served = await serve(modules.start(block, { ...env, PORT: String(port) }), port)
    expect(served).toEqual({ answers: asked, code: 0, output: '' })
  })

  for (const [needed, reason] of Object.entries(reasons)) {
    describe.skipIf(reason !== undefined)(`in ${needed}${reason ? ` (${reason})` : ''}`, () => {
      test.for(chosen.filter((block) => needs(block) === needed))('at $place does what it says', async (block) => {
        const { is, wanted } = await outcome(block)
        expect(is).toEqual(wanted)
      })
    })
  }
})
