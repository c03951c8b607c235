import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createCache, type Cache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { patient } from '../support/fleet.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'
import { until } from '../../tools/until.mjs'
import { herdless } from './command.ts'

let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
})

afterAll(async () => {
  await server?.stop()
})

function open(): Cache {
  const sources = { pg: { concurrency: 2 }, api: { rate: { loads: 100, per: '10m' } } } as const
  const store = redisStore(server.connect())
  const cache = createCache({ store, sources, ...patient })
  onTestFinished(() => cache.close({ timeout: 0 }))
  return cache
}

test('the command sources tells what runs under each limit, and who waits', async () => {
  expect(await herdless(['sources', server.url])).toEqual({ code: 0, err: '', out: 'No source is in use\n' })
  expect(await herdless(['sources', server.url, '--json'])).toEqual({ code: 0, err: '', out: '' })

  const [a, b] = [open(), open()]
  let running = 0
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => (end = resolve))
  const load = async (): Promise<string> => {
    running++
    await ended
    return 'v'
  }
  const answers = [1, 2].map((key) => a.getOrLoad(`a${key}`, load, { source: 'pg' }))
  await until('two loads run', () => running === 2)
  answers.push(...[1, 2, 3].map((key) => b.getOrLoad(`b${key}`, load, { source: 'pg' })))
  answers.push(a.getOrLoad('c', () => 'v', { source: 'api' }))

  type Told = { readonly waiting: { readonly permits: number }; readonly oldest: number | null }
  const [api, pg] = await until('three loads are known to wait', async () => {
    const { out } = await herdless(['sources', server.url, '--json'])
    const told = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Told]))
    return told.length === 2 && told[1]?.waiting.permits === 3 ? told : undefined
  })
  expect(api).toMatchObject({ source: 'api', concurrency: null, rate: { loads: 100, per: 600_000, begun: 1 } })
  expect(pg).toEqual({
    source: 'pg',
    concurrency: 2,
    held: 2,
    oldest: expect.any(Number) as number,
    users: 2,
    waiting: { users: 1, permits: 3 },
    rate: null,
  })

  const older = await until('the oldest load is older', async () => {
    const { out } = await herdless(['sources', server.url])
    return (
      /"pg" {2}2 of 2 loads running, the oldest for [1-9].* s; 2 processes, 1 wait for 3 loads/.exec(out) ?? undefined
    )
  })
  expect(older).toBeTruthy()
  end()
  await Promise.all(answers)
  await Promise.all([a.close(), b.close()])
  const { out } = await herdless(['sources', server.url])
  expect(out).not.toContain('"pg"')
})
