import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { provisionPostgres } from '../../tools/servers/provision-postgres.mjs'
import { until } from '../../tools/until.mjs'
import { missing } from '../support/provided.ts'
import { AppProcess } from './app-process.ts'
import { Database, Service, type Source } from './source.ts'

const withoutPostgres = await missing(provisionPostgres)

interface App {
  readonly name: string
  readonly script: string
  readonly open: () => Promise<Source>
  readonly reason?: string | undefined
}

const apps: readonly App[] = [
  {
    name: 'Express 5 with PostgreSQL',
    script: 'express5/dist/server.js',
    open: () => Database.open(),
    reason: withoutPostgres,
  },
  { name: 'Express 4', script: 'express4/server.js', open: () => Service.open() },
  { name: 'NestJS 11', script: 'nest11/dist/main.js', open: () => Service.open() },
]

describe.each(apps)('$name', ({ script, open, reason }) => {
  describe.skipIf(reason !== undefined)(`in two processes${reason === undefined ? '' : ` (${reason})`}`, () => {
    let source: Source
    let one: AppProcess
    let other: AppProcess

    beforeAll(async () => {
      source = await open()
      const env = { ...source.env, REDIS_URL: inject('redisUrl'), NAMESPACE: randomUUID() }
      ;[one, other] = await Promise.all([AppProcess.start(script, env), AppProcess.start(script, env)])
    })

    afterAll(async () => {
      await Promise.all([one?.stop(), other?.stop()])
      await source?.close()
    })

    test.for(['customers', 'products'])(
      'what is not found among the %s is 404 for the leader, a joiner, in another process and afterwards',
      async (kind) => {
        const [before, elsewhere] = [await one.stats(), await other.stats()]
        const release = await source.hold()
        const leader = one.ask(`/${kind}/404`)
        await until('it loads', async () => (await one.stats()).loads === before.loads + 1)
        const joiner = one.ask(`/${kind}/404`)
        await until('a second one waits for it', async () => (await one.stats()).misses === before.misses + 2)
        const waiter = other.ask(`/${kind}/404`)
        await until('another process waits', async () => (await other.stats()).waits === elsewhere.waits + 1)
        await release()
        const answers = await Promise.all([leader, joiner, waiter])
        const later = [await one.ask(`/${kind}/404`), await other.ask(`/${kind}/404`)]
        const message = expect.stringContaining('There is no') as string
        expect([...answers, ...later]).toEqual(Array(5).fill({ status: 404, body: { error: message } }))
        expect((await one.stats()).loads).toBe(before.loads + 1)
        expect((await other.stats()).loads).toBe(elsewhere.loads)
      },
    )

    test('a deleted product is 404 at once in both processes, although its grace is ten minutes', async () => {
      for (const app of [one, other]) expect(await app.ask('/products/1')).toMatchObject({ status: 200 })
      expect(await one.ask('/products/1', 'DELETE')).toMatchObject({ status: 204 })
      for (const app of [other, one]) expect(await app.ask('/products/1')).toMatchObject({ status: 404 })
    })

    test('a product that somebody else has deleted is 404 once the source was asked, and stays so', async () => {
      for (const app of [one, other]) expect(await app.ask('/products/2')).toMatchObject({ status: 200 })
      await source.removeProduct(2)
      await until('it is gone', async () => (await other.ask('/products/2')).status === 404)
      for (const app of [one, other, one, other]) expect(await app.ask('/products/2')).toMatchObject({ status: 404 })
    })

    test('what exists is 200', async () => {
      expect(await one.ask('/customers/7')).toEqual({ status: 200, body: { id: 7, name: 'customers 7' } })
    })

    test('a process that is asked to end does so without a word', async () => {
      await one.ask('/customers/8')
      one.terminate()
      expect(await one.ended()).toBe('')
      expect(await other.ask('/customers/8')).toMatchObject({ status: 200 })
    })
  })
})
