import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkout, command } from '../../tools/command.mjs'
import { unpackInto } from '../../tools/pack.mjs'
import { until } from '../../tools/until.mjs'
import { startRedis, type RedisServer } from '../support/redis-server.ts'
import { AppProcess } from './app-process.ts'
import { CountingSource } from './counting-source.ts'
import { apps } from './given-package.ts'

const folder = join(apps, 'nest/manager')
const files = ['app.module.ts', 'catalogue.ts', 'pages.ts', 'main.ts']

/** The changes of a module that the page shows: paragraphs of lines, each of which is found once. */
async function changesOfPage(): Promise<{ before: string; after: string }[]> {
  const page = await readFile(join(checkout, 'docs/nest.md'), 'utf8')
  const [, section = ''] = page.split('\n## From @nestjs/cache-manager\n')
  const block = /And the module[^`]*```diff\n([^`]*)```/.exec(section)?.[1] ?? ''
  const without = (lines: string[], sign: string): string =>
    lines
      .filter((line) => !line.startsWith(sign))
      .map((line) => `${line.slice(1)}\n`)
      .join('')
  return block
    .trimEnd()
    .split('\n\n')
    .map((paragraph) => {
      const lines = paragraph.split('\n')
      return { before: without(lines, '+'), after: without(lines, '-') }
    })
}

/** The app as the page says to change it. */
async function moved(name: string, source: string): Promise<string> {
  let text = source
  for (const { before, after } of name === 'app.module.ts' ? await changesOfPage() : []) {
    expect(text.split(before), `${before} in ${name}`).toHaveLength(2)
    text = text.replace(before, () => after)
  }
  return text.replaceAll("from '@nestjs/cache-manager'", "from 'herdless/nest'")
}

let redis: RedisServer

beforeAll(async () => {
  await unpackInto(folder)
  await rm(join(folder, 'dist'), { recursive: true, force: true })
  for (const state of ['before', 'after']) {
    const src = join(folder, 'dist', state, 'src')
    await mkdir(src, { recursive: true })
    await cp(join(folder, 'app/tsconfig.json'), join(src, 'tsconfig.json'))
    for (const file of files) {
      const source = await readFile(join(folder, 'app', file), 'utf8')
      await writeFile(join(src, file), state === 'after' ? await moved(file, source) : source)
    }
    await command('tsc', ['-p', src])
  }
  redis = await startRedis()
}, 300_000)
afterAll(async () => redis?.stop())

describe.each(['before', 'after'] as const)('an app of @nestjs/cache-manager, %s its move', (state) => {
  let source: CountingSource
  let fleet: AppProcess[] = []

  beforeEach(async () => {
    source = new CountingSource()
    const env = { REDIS_URL: redis.url, SOURCE_URL: await source.url() }
    fleet = await Promise.all([1, 2].map(() => AppProcess.start(`nest/manager/dist/${state}/dist/main.js`, env)))
    await call('clear')
  }, 120_000)
  afterEach(async () => {
    await Promise.all(fleet.map((each) => each.stop()))
    source.close()
  })

  async function call(name: string, ...args: unknown[]): Promise<unknown> {
    const url = `http://127.0.0.1:${fleet[0]?.port}/calls/${name}`
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(args) })
    expect(response.status).toBe(201)
    return ((await response.json()) as { result: unknown }).result
  }

  /** The bodies of what the processes answer in turns. */
  async function answers(path: string): Promise<unknown[]> {
    const given: unknown[] = []
    for (const each of [...fleet, ...fleet]) {
      const { status, body } = await each.ask(path)
      expect(status).toBe(200)
      given.push(body)
    }
    return given
  }

  test('has what was set, until it is deleted or its ttl is over', async () => {
    expect(await call('set', 'a', { deep: [1, null] }, 60_000)).toEqual({ deep: [1, null] })
    await call('mset', [
      { key: 'b', value: 2, ttl: 300_000 },
      { key: 'c', value: 'three' },
      { key: 'd', value: null },
    ])
    expect(await call('get', 'a')).toEqual({ deep: [1, null] })
    expect(await call('mget', ['a', 'b', 'c', 'none'])).toEqual([{ deep: [1, null] }, 2, 'three', null])
    expect([await call('get', 'd'), await call('get', 'none')]).toEqual([null, undefined])
    const rest = (await Promise.all(['a', 'b', 'c', 'none'].map((key) => call('ttl', key)))).map((at) =>
      at === undefined ? at : Math.ceil((Number(at) - Date.now()) / 60_000),
    )
    expect(rest).toEqual([1, 5, 1, undefined])
    expect([await call('del', 'a'), await call('mdel', ['b', 'none'])]).toEqual([true, true])
    expect(await call('mget', ['a', 'b', 'c'])).toEqual([null, null, 'three'])
    await call('set', 'soon', 1, 50)
    await until('its ttl is over', async () => (await call('get', 'soon')) === undefined)
    expect(await call('clear')).toBe(true)
    expect(await call('get', 'c')).toBeUndefined()
  }, 60_000)

  test('has entities, as plain objects, by wrap and by get and set', async () => {
    for (const [path, key] of [
      ['products', 'product'],
      ['stock', 'stock'],
    ]) {
      const plain = { text: `${key}-7#1`, at: '1970-01-01T00:00:00.000Z' }
      expect(await answers(`/${path}/7`)).toEqual([plain, plain, plain, plain])
      expect(await call('get', `${key}:7`)).toEqual(plain)
    }
    expect((await fleet[1]?.ask('/products/7', 'DELETE'))?.status).toBe(200)
    expect(await answers('/products/7')).toContainEqual({ text: 'product-7#2', at: '1970-01-01T00:00:00.000Z' })
  }, 60_000)

  test('loads anew within the threshold, and answers meanwhile', async () => {
    const [one] = fleet as [AppProcess]
    expect((await one.ask('/prices/7')).body).toEqual({ answer: 'price-7#1' })
    const release = source.hold()
    expect((await one.ask('/prices/7')).body).toEqual({ answer: 'price-7#1' })
    await until('it loads anew', () => source.asked.get('price-7') === 2)
    release()
    await until('the new value is there', async () => (await call('get', 'price:7')) === 'price-7#2')
  }, 60_000)

  test('keeps answers under the keys and for the times that decorators and trackBy say', async () => {
    const [one] = fleet as [AppProcess]
    /** Asks one process, and when its answer is there, all. */
    const stored = async (path: string, key: string, answer: string): Promise<void> => {
      expect((await one.ask(path)).body).toEqual({ answer })
      // Before the move it is stored after the answer has been sent.
      await until('it is stored', async () => (await call('get', key)) !== undefined)
      expect(await answers(path)).toEqual(Array.from({ length: 4 }, () => ({ answer })))
    }
    for (const name of ['all', 'soon']) await stored(`/named/${name}`, name, `${name}#1`)
    const rest = async (key: string): Promise<number> => Number((await call('ttl', key)) ?? Infinity) - Date.now()
    expect([(await rest('soon')) <= 5_000, (await rest('all')) > 86_400_000]).toEqual([true, true])
    await call('del', 'all')
    await stored('/named/all', 'all', 'all#2')
    await stored('/pages/7?any=1', 'page /pages/7', 'page-7#1')
    expect(await answers('/pages/7?preview')).toHaveLength(4)
    expect(source.asked.get('page-7')).toBe(5)
  }, 60_000)

  test(`asks the source ${state === 'after' ? 'once' : 'twice'} for many who want a product at once`, async () => {
    const release = source.hold()
    const asking = fleet.flatMap((each) => Array.from({ length: 5 }, () => each.ask('/products/9')))
    const loads = state === 'after' ? 1 : 2
    await until('they load', () => source.asked.get('product-9') === loads)
    release()
    const texts = (await Promise.all(asking)).map(({ body }) => (body as { text: string }).text)
    expect(new Set(texts).size).toBe(loads)
    expect(source.asked.get('product-9')).toBe(loads)
  }, 60_000)
})
