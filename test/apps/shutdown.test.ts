import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, inject, test } from 'vitest'
import { provisionPostgres } from '../../tools/servers/provision-postgres.mjs'
import { until } from '../../tools/until.mjs'
import { missing } from '../support/provided.ts'
import { AppProcess } from './app-process.ts'
import { Database } from './source.ts'

const reason = await missing(provisionPostgres)

describe.skipIf(reason !== undefined)(`SIGTERM during a load${reason === undefined ? '' : ` (${reason})`}`, () => {
  let source: Database
  let ended: AppProcess
  let other: AppProcess
  let release: () => Promise<void>

  beforeAll(async () => void (source = await Database.open()))
  afterAll(() => source?.close())

  beforeEach(() => void (release = async () => {}))
  afterEach(async () => {
    await release()
    await Promise.all([ended?.stop(), other?.stop()])
  })

  /** Two processes, of which the first loads and the second waits for it; their clients' answers. */
  async function loading(drain: string): Promise<{ leader: Promise<number>; waiter: Promise<number> }> {
    const env = { ...source.env, REDIS_URL: inject('redisUrl'), NAMESPACE: randomUUID(), DRAIN: drain }
    const start = (): Promise<AppProcess> => AppProcess.start('express5/dist/server.js', env)
    ;[ended, other] = await Promise.all([start(), start()])
    release = await source.hold()
    const ask = async (app: AppProcess): Promise<number> => (await app.ask('/customers/1')).status
    const leader = ask(ended)
    await until('one loads', async () => (await ended.stats()).loads === 1)
    const waiter = ask(other)
    await until('the other waits', async () => (await other.stats()).waits === 1)
    return { leader, waiter }
  }

  test('requests in flight are answered by the load that ends in time, and no others are taken', async () => {
    const { leader, waiter } = await loading('20000')
    ended.terminate()
    await until('it takes no connections', async () => ended.ask('/stats').then(() => false, isRefused))
    await release()
    expect(await Promise.all([leader, waiter])).toEqual([200, 200])
    expect(await ended.ended()).toBe('')
    expect((await other.stats()).loads).toBe(0)
  })

  test('another process takes over at once the load that does not end in time', async () => {
    const { leader, waiter } = await loading('200')
    ended.terminate()
    expect(await leader).toBe(503)
    const answeredAt = Date.now()
    await until('the other loads', async () => (await other.stats()).loads === 1)
    // The lease is of 10 s.
    expect(Date.now() - answeredAt).toBeLessThan(3_000)
    await release()
    expect(await waiter).toBe(200)
    expect(await ended.ended()).toBe('')
  })
})

function isRefused(error: unknown): boolean {
  return ((error as Error).cause as { code?: string } | undefined)?.code === 'ECONNREFUSED'
}
