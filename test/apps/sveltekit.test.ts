import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { command } from '../../tools/command.mjs'
import { unpackInto } from '../../tools/pack.mjs'
import { until } from '../../tools/until.mjs'
import { startRedis, type RedisServer } from '../support/redis-server.ts'
import { AppProcess } from './app-process.ts'
import { CountingSource } from './counting-source.ts'
import { apps } from './given-package.ts'
import { codeOfPage } from './page-code.ts'
import { keepsPromises } from './promises.ts'

const app = join(apps, 'sveltekit')
const node = join(app, 'node_modules/node/bin/node')

let redis: RedisServer

beforeAll(async () => {
  await unpackInto(app)
  await rm(join(app, 'build'), { recursive: true, force: true })
  // Beside `hooks.server.ts`, which has another hook before it.
  await writeFile(join(app, 'src/cached.ts'), await codeOfPage('SvelteKit'))
  await command('tsc', ['-p', join(app, 'types.json')])
  // No Redis is there when it builds.
  const env = { REDIS_URL: 'redis://127.0.0.1:1', NODE_DISABLE_COMPILE_CACHE: '1' }
  await command(node, [join(app, 'node_modules/vite/bin/vite.js'), 'build'], { cwd: app, env })
  redis = await startRedis()
}, 300_000)
afterAll(async () => redis?.stop())

describe('two processes of SvelteKit', () => {
  let source: CountingSource
  let fleet: AppProcess[] = []

  beforeEach(async () => {
    source = new CountingSource()
    const env = { REDIS_URL: redis.url, NAMESPACE: randomUUID(), SOURCE_URL: await source.url() }
    const given = { ...env, HOST: '127.0.0.1', PORT: '0' }
    fleet = await Promise.all([1, 2].map(() => AppProcess.start('sveltekit/build/index.js', given, node)))
  }, 120_000)
  afterEach(async () => {
    await Promise.all(fleet.map((each) => each.stop()))
    source.close()
  })

  /** What each process shows of a page or an endpoint, to several who ask at once. */
  async function shown(path: string, fields: Record<string, string> = {}): Promise<Set<string>> {
    const asking = [...fleet, ...fleet, ...fleet].map((each) => each.answer(path, fields))
    const answers = await Promise.all(asking)
    return new Set(answers.map(({ status, body }) => `${status} ${/(?:\w+: )?[\w-]+#\d+/.exec(body)?.[0]}`))
  }

  /** What the cache says of an answer. */
  async function said(path: string, fields: Record<string, string> = {}): Promise<string> {
    return String((await fleet[0]?.answer(path, fields))?.headers['cache-status'])
  }

  /** Posts a form to a page, or asks with another method, as a browser does. */
  async function send(path: string, method = 'POST'): Promise<number | undefined> {
    const type = 'application/x-www-form-urlencoded'
    const headers = { host: 'shop', origin: 'https://shop', 'content-type': type, accept: 'text/html' }
    const to = { host: '127.0.0.1', port: fleet[0]?.port, path, method, headers, agent: false as const }
    const posted = request(to)
    posted.end(method === 'POST' ? 'name=new' : '')
    const [response] = (await once(posted, 'response')) as [{ statusCode: number; resume(): void }]
    response.resume()
    return response.statusCode
  }

  test('load a page and an endpoint once for all who ask', async () => {
    for (const [path, name] of [
      ['/pages/7', 'page-7'],
      ['/api/7', 'api-7'],
    ]) {
      const release = source.hold()
      const asking = shown(path as string)
      await until('one loads', () => source.asked.get(name as string) === 1)
      release()
      expect(await asking).toEqual(new Set([`200 ${name}#1`]))
      expect(await shown(path as string)).toEqual(new Set([`200 ${name}#1`]))
      expect(await said(path as string)).toMatch(/^herdless; hit; ttl=\d+$/)
    }
    expect([...source.asked.values()]).toEqual([1, 1])
  }, 60_000)

  test('share no answer that depends on what a hook has found, or on a cookie', async () => {
    expect(await said('/mine', { 'x-user': 'eve' })).toMatch(/detail=undeclared:.*locals\.user/)
    for (const user of ['ann', 'bob']) {
      const fields = { 'x-user': user }
      const given = [...(await shown('/mine', fields))]
      expect([given.length, given.every((each) => each.startsWith(`200 ${user}: mine#`))]).toEqual([6, true])
    }
    expect(await said('/careless')).toMatch(/detail=undeclared:.*cookies\.get/)
    expect((await shown('/careless')).size).toBe(6)
    expect(await said('/careless', { cookie: 'a=b' })).toBe('herdless; fwd=bypass; detail=cookie')
  }, 60_000)

  test('share no page that asks an endpoint by the fetch of SvelteKit, which hands on the fields of its client', async () => {
    expect(await said('/fetched/7')).toMatch(/detail=undeclared:.*authorization/)
    expect((await shown('/fetched/7')).size).toBe(1)
    expect(source.asked.get('api-7')).toBe(1)
  }, 60_000)

  test('invalidate a page by its form action, and by the tag that its load sets', async () => {
    expect(await shown('/pages/7')).toEqual(new Set(['200 page-7#1']))
    expect(await send('/pages/7')).toBe(200)
    // The action has rendered the page, too.
    expect(await shown('/pages/7')).toEqual(new Set(['200 page-7#3']))
    expect(await shown('/api/7')).toEqual(new Set(['200 api-7#1']))
    expect(await send('/api/7', 'DELETE')).toBe(204)
    expect(await shown('/api/7')).toEqual(new Set(['200 api-7#2']))
    expect(await shown('/pages/7')).toEqual(new Set(['200 page-7#3']))
  }, 60_000)

  test('end without a word', async () => {
    await shown('/pages/7')
    for (const each of fleet) {
      each.terminate()
      expect(await each.ended()).toBe('')
    }
  }, 60_000)
})

const behind = {
  door: 'SvelteKit',
  start: async (env: Record<string, string>) => {
    return AppProcess.start('sveltekit/build/index.js', { ...env, HOST: '127.0.0.1', PORT: '0' }, node)
  },
  path: (id: string) => `/doors/${id}`,
  change: (id: string) => `/doors/${id}`,
} as const
keepsPromises(behind, () => redis)
