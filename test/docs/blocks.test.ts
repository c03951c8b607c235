import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startNodes, startRedis, type RedisNodes, type RedisServer } from '../support/servers.ts'
import { BlockModules, flaw, isScript, promised } from './blocks.ts'
import { docs } from './markdown.ts'

const blocks = docs().flatMap((doc) => doc.blocks)
const scripts = blocks.filter(isScript)

test.for(blocks)('the block at $place says what language it is in', ({ language }) => {
  expect([...new Set(scripts.map((block) => block.language)), 'sh', 'text', 'mermaid']).toContain(language)
})

test.for(scripts)('the code at $place says where it is run', (block) => {
  expect(flaw(block)).toBe(null)
})

describe('the code on the pages', () => {
  let redis: RedisServer
  let nodes: RedisNodes
  let database: PGlite
  let sockets: PGLiteSocketServer
  let modules: BlockModules
  let env: Record<string, string>

  beforeAll(async () => {
    modules = await BlockModules.make(scripts)
    await modules.compile()
    redis = await startRedis()
    nodes = await startNodes(3)
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
  })

  test.for(scripts)('at $place does what it says', async (block) => {
    await redis.client.flushall()
    const { code, output } = await modules.run(block, env)
    const printed = output.split('\n').filter((line) => line !== '')
    const lines = promised(block)?.map((line) => expect.stringMatching(line) as string)
    expect({ code, printed }).toEqual({ code: 0, printed: lines ?? printed })
  })
})
