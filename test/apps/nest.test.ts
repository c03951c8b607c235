import { randomUUID } from 'node:crypto'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { command } from '../../tools/command.mjs'
import { unpackInto } from '../../tools/pack.mjs'
import { until } from '../../tools/until.mjs'
import { startRedis, type RedisServer } from '../support/redis-server.ts'
import { AppProcess } from './app-process.ts'
import { CountingSource } from './counting-source.ts'
import type { Door } from './doors.ts'
import { apps } from './given-package.ts'
import { keepsPromises } from './promises.ts'

const folder = join(apps, 'nest')
const majors = ['on11', 'on12'] as const

/** The status and the text of an answer. */
async function answerOf(each: AppProcess, path: string, fields: Record<string, string> = {}): Promise<string> {
  const { status, body } = await each.answer(`/${path}`, fields)
  return `${status} ${body}`
}

let redis: RedisServer

beforeAll(async () => {
  redis = await startRedis()
  for (const major of majors) {
    await unpackInto(join(folder, major))
    const src = join(folder, major, 'src')
    await rm(src, { recursive: true, force: true })
    await cp(join(folder, 'app'), src, { recursive: true })
    await command('tsc', ['-p', src])
  }
}, 300_000)
afterAll(async () => redis?.stop())

const platforms = ['express', 'fastify'] as const
const kinds = majors.flatMap((major) => platforms.map((platform) => ({ major, platform })))

describe.each(kinds)('two processes of Nest $major, $platform', ({ major, platform }) => {
  let source: CountingSource
  let fleet: AppProcess[] = []
  let env: Record<string, string>

  beforeEach(async () => {
    source = new CountingSource()
    env = { PLATFORM: platform, REDIS_URL: redis.url, NAMESPACE: randomUUID(), SOURCE_URL: await source.url() }
    fleet = await Promise.all([1, 2].map(() => AppProcess.start(`nest/${major}/dist/main.js`, env)))
  }, 120_000)
  afterEach(async () => {
    await Promise.all(fleet.map((each) => each.stop()))
    source.close()
  })

  /** The status and the text of what each process answers, to several who ask at once. */
  async function answers(path: string, headers: Record<string, string> = {}): Promise<Set<string>> {
    return new Set(await Promise.all([...fleet, ...fleet].map((each) => answerOf(each, path, headers))))
  }

  test('load once by a decorator, by the cache manager and in a provider of a factory', async () => {
    for (const kind of ['product', 'price', 'managed', 'stock']) {
      expect(await answers(`${kind}/7`)).toEqual(new Set([`200 ${kind}-7#1`]))
      expect(await answers(`${kind}/7`)).toEqual(new Set([`200 ${kind}-7#1`]))
    }
    expect([...source.asked.values()]).toEqual([1, 1, 1, 1])
  }, 60_000)

  test('invalidate after a change, also after one that fails', async () => {
    for (const id of ['7', 'fails']) {
      expect(await answers(`product/${id}`)).toEqual(new Set([`200 product-${id}#1`]))
      expect(await fleet[0]?.ask(`/product/${id}`, 'DELETE')).toMatchObject({ status: 200, body: 'changed' })
      expect(await answers(`product/${id}`)).toEqual(new Set([`200 product-${id}#2`]))
    }
  }, 60_000)

  test('tell an exception of Nest as what it is in both processes', async () => {
    for (const each of fleet) expect(await each.ask('/product/none')).toMatchObject({ status: 404 })
  }, 60_000)

  test('answer once for all whom a guard does not know, and each user for themselves', async () => {
    expect(await answers('pages/careless')).toEqual(new Set(['200 {"for":"all","answer":"careless#1"}']))
    for (const user of ['ann', 'bob']) {
      const given = await answers('pages/careless', { 'x-user': user })
      expect(given.size).toBe(4)
      expect([...given].every((each) => each.startsWith(`200 {"for":"${user}"`))).toBe(true)
    }
    for (const field of ['cookie', 'authorization']) {
      expect((await answers('pages/careless', { [field]: 'a=b' })).size).toBe(4)
    }
    expect(source.asked.get('careless')).toBe(17)
    for (const user of ['ann', 'bob', 'ann']) {
      const given = await answers('pages/own', { 'x-user': user })
      expect(given).toEqual(new Set([`200 {"for":"${user}","answer":"own-${user}#1"}`]))
    }
    expect((await answers('pages/own')).size).toBe(4)
  }, 60_000)

  test('ask the guard before the cache', async () => {
    await answers('pages/named/1')
    expect(await answers('pages/named/2')).toEqual(new Set(['200 {"answer":"named#1"}']))
    const refused = [...(await answers('pages/named/1', { 'x-user': 'nobody' }))]
    expect(refused.every((each) => each.startsWith('403'))).toBe(true)
  }, 60_000)

  test('store no answer that is more than what its handler returns', async () => {
    for (const path of ['pages/head', 'pages/missing']) {
      await answers(path)
      expect((await answers(path)).size).toBe(4)
    }
  }, 60_000)

  test('close their caches without a word, and a load that is under way ends before', async () => {
    const [one] = fleet as [AppProcess]
    const release = source.hold()
    const loading = answerOf(one, 'product/9')
    await until('it loads', () => source.asked.get('product-9') === 1)
    one.terminate()
    await until('it takes no requests', async () =>
      answerOf(one, 'stats').then(
        (given) => !given.startsWith('200'),
        () => true,
      ),
    )
    release()
    expect(await loading).toBe('200 product-9#1')
    expect(await one.ended()).toBe('')
  }, 60_000)

  test('know whether Redis answers', async () => {
    const up = [{ cache: { status: 'up' } }, { prices: { status: 'up' } }]
    expect((await fleet[0]?.ask('/health'))?.body).toEqual(up)
    await redis.freeze()
    try {
      const down = { status: 'down', message: 'STORE_UNAVAILABLE' }
      expect((await fleet[0]?.ask('/health'))?.body).toEqual([{ cache: down }, { prices: down }])
    } finally {
      redis.thaw()
    }
  }, 60_000)

  test('do not start with a request-scoped provider that has cached methods', async () => {
    const started = AppProcess.start(`nest/${major}/dist/main.js`, { ...env, SCOPED: 'yes' })
    await expect(started).rejects.toThrow('Expected Catalogue not to be request-scoped')
  }, 60_000)
})

const behind = {
  'Nest: @Cached': 'cached',
  'Nest: CACHE_MANAGER': 'managed',
  'Nest: CacheInterceptor': 'answers',
} as const
for (const [door, path] of Object.entries(behind) as [Door, string][]) {
  const app = {
    door,
    start: async (env: Record<string, string>) => AppProcess.start('nest/on12/dist/main.js', env),
    path: (id: string) => `/doors/${path}/${id}`,
    change: (id: string) => `/doors/change/${id}`,
  }
  keepsPromises(app, () => redis)
}
