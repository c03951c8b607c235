import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { RequestHandler } from 'express'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { cacheResponses, type CacheResponsesOptions } from '../../src/express/index.ts'
import { siteWith, type Site } from './support/site.ts'

interface Who {
  readonly name: string
}

/** A site whose middleware enters a store for each client, before the cache. */
async function siteIn<T>(
  storage: AsyncLocalStorage<T>,
  { page, storeOf, ...options }: CacheResponsesOptions & { page: RequestHandler; storeOf: (name: string) => T },
): Promise<Site> {
  return await siteWith((app, cache) => {
    app.use((req, _res, next) => storage.run(storeOf(req.get('x-who') ?? 'nobody'), next))
    app.use(cacheResponses(cache, { ttl: '1m', ...options }))
    app.get('/', page)
  })
}

const storeOf = (name: string): Who => ({ name })
const [ada, bob] = [{ 'x-who': 'ada' }, { 'x-who': 'bob' }]

async function pagesOf(site: Site, ...visitors: readonly Record<string, string>[]) {
  const pages: { text: string; cache: string }[] = []
  for (const visitor of visitors) {
    const { text, cache } = await site.get('/', visitor)
    await site.stored()
    pages.push({ text, cache })
  }
  return pages
}

describe('a store that was entered before the cache', () => {
  const reads: Record<string, (storage: AsyncLocalStorage<Who>) => RequestHandler> = {
    'at once': (storage) => (_req, res) => void res.send(`of ${storage.getStore()?.name}`),
    'after a while': (storage) => async (_req, res) => {
      await sleep(1)
      res.send(`of ${storage.getStore()?.name}`)
    },
    'within a store of its own': (storage) => (_req, res) =>
      new AsyncLocalStorage<string>().run('own', () => void res.send(`of ${storage.getStore()?.name}`)),
    'after its head': (storage) => async (_req, res) => {
      res.write('of ')
      await sleep(1)
      res.end(storage.getStore()?.name)
    },
  }

  test.each(Object.entries(reads))('is an input of a handler that reads it %s', async (when, pageOf) => {
    const storage = new AsyncLocalStorage<Who>()
    await using site = await siteIn(storage, { storeOf, page: pageOf(storage) })
    const pages = await pagesOf(site, ada, bob, ada)
    expect(pages.map(({ text }) => text)).toEqual(['of ada', 'of bob', 'of ada'])
    const said = when === 'after its head' ? 'stored' : 'detail=undeclared:async'
    expect(pages[0]?.cache).toBe(`herdless; fwd=uri-miss; ${said}`)
  })

  test('tells clients apart that ask at once', async () => {
    const storage = new AsyncLocalStorage<Who>()
    const page: RequestHandler = async (_req, res) => (await sleep(5), void res.send(`of ${storage.getStore()?.name}`))
    await using site = await siteIn(storage, { storeOf, page })
    const names = Array.from({ length: 12 }, (_, index) => `client ${index}`)
    const replies = await Promise.all(site.crowd(12, '/', (index) => ({ headers: { 'x-who': names[index] ?? '' } })))
    expect(replies.map(({ text }) => text)).toEqual(names.map((name) => `of ${name}`))
  })

  test('may be a primitive', async () => {
    const storage = new AsyncLocalStorage<string>()
    const page: RequestHandler = (_req, res) => void res.send(`of ${storage.getStore()}`)
    await using site = await siteIn(storage, { storeOf: (name) => name, page })
    expect((await pagesOf(site, ada, bob)).map(({ text }) => text)).toEqual(['of ada', 'of bob'])
  })

  test('is no input of a handler that does not read it', async () => {
    const storage = new AsyncLocalStorage<Who>()
    await using site = await siteIn(storage, { storeOf, page: (_req, res) => void res.send('page') })
    expect((await pagesOf(site, ada, bob))[1]?.cache).toContain('hit')
  })

  test('is no input if it is shared', async () => {
    const storage = new AsyncLocalStorage<Who>()
    const page: RequestHandler = (_req, res) => void res.send(`of ${storage.getStore()?.name}`)
    await using site = await siteIn(storage, { storeOf, page, shared: ['async'] })
    expect((await pagesOf(site, ada, bob))[1]).toEqual({ text: 'of ada', cache: expect.stringContaining('hit') })
  })

  test('is part of the key if `user` is made from it', async () => {
    const [storage, other] = [new AsyncLocalStorage<Who>(), new AsyncLocalStorage<Who>()]
    const user = (): string | undefined => storage.getStore()?.name
    const page: RequestHandler = (_req, res) => void res.send(`of ${storage.getStore()?.name}`)
    await using site = await siteIn(storage, { storeOf, page, user })
    const pages = await pagesOf(site, ada, bob, ada, bob)
    expect(pages.map(({ text }) => text)).toEqual(['of ada', 'of bob', 'of ada', 'of bob'])
    expect(pages.slice(2).map(({ cache }) => cache)).toEqual([1, 2].map(() => expect.stringContaining('hit')))
    await using both = await siteWith((app, cache) => {
      app.use((req, _res, next) => other.run(storeOf(req.get('x-who') ?? ''), () => storage.run(storeOf('all'), next)))
      app.use(cacheResponses(cache, { ttl: '1m', user }))
      app.get('/', (_req, res) => void res.send(`of ${other.getStore()?.name}`))
    })
    expect((await pagesOf(both, ada, bob)).map(({ text }) => text)).toEqual(['of ada', 'of bob'])
  })

  test('is there for a refresh of the page of its user, and of no other page', async () => {
    const storage = new AsyncLocalStorage<Who>()
    let runs = 0
    const page: RequestHandler = (_req, res) => void res.send(`${++runs} of ${storage.getStore()?.name}`)
    const user = (): string | undefined => storage.getStore()?.name
    await using site = await siteIn(storage, { storeOf, page, user, ttl: 1, grace: '1m' })
    await site.get('/', ada)
    const texts = new Set<string>()
    await until('it is refreshed', async () => {
      texts.add((await site.get('/', ada)).text)
      return texts.size > 1
    })
    expect([...texts].every((text) => text.endsWith('of ada'))).toBe(true)
  })
})

describe('no input', () => {
  test('is a store that the handler itself enters', async () => {
    const storage = new AsyncLocalStorage<Who>()
    const page: RequestHandler = (_req, res) =>
      storage.run(storeOf('the handler'), () => void res.send(`of ${storage.getStore()?.name}`))
    await using site = await siteIn(storage, { storeOf, page })
    expect((await pagesOf(site, ada, bob))[1]).toEqual({
      text: 'of the handler',
      cache: expect.stringContaining('hit'),
    })
  })

  test.each(['BaseContext', 'DatadogStorage'])('is the store of a tracer: %s', async (name) => {
    const Named = { [name]: class extends AsyncLocalStorage<object> {} }[name] as typeof AsyncLocalStorage
    const Store = { [name]: class {} }[name] as new () => object
    const storage = name === 'BaseContext' ? new AsyncLocalStorage<object>() : new Named<object>()
    const page: RequestHandler = (_req, res) => (storage.getStore(), void res.send('page'))
    await using site = await siteIn(storage, {
      storeOf: () => (name === 'BaseContext' ? new Store() : { span: {} }),
      page,
    })
    expect((await pagesOf(site, ada, bob))[1]?.cache).toContain('hit')
  })

  test('is a read of another request that is under way meanwhile', async () => {
    const storage = new AsyncLocalStorage<Who>()
    const page: RequestHandler = async (_req, res) => (await sleep(20), void res.send('page'))
    await using site = await siteWith((app, cache) => {
      app.use((req, _res, next) => storage.run(storeOf(req.get('x-who') ?? 'nobody'), next))
      app.get('/other', (_req, res) => void res.send(storage.getStore()?.name))
      app.get('/', cacheResponses(cache, { ttl: '1m' }), page)
    })
    const first = site.get('/', ada)
    for (let round = 0; round < 3; round++) expect((await site.get('/other', bob)).text).toBe('bob')
    expect((await first).cache).toContain('stored')
  })
})

test('a refresh that never answers keeps no request in memory once it is given up', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const storage = new AsyncLocalStorage<Who>()
  let runs = 0
  let refreshed: WeakRef<object> | undefined
  await using site = await siteWith((app, cache) => {
    app.use((_req, _res, next) => storage.run(storeOf('ada'), next))
    app.use(cacheResponses(cache), (req, res) => {
      if (++runs === 2) refreshed = new WeakRef(req)
      else res.set('Cache-Control', 'max-age=0, stale-while-revalidate=60').send('page')
    })
  })
  await site.get()
  await site.stored()
  await site.get()
  await until('the handler runs behind it', () => runs === 2)
  await site.caches[0]?.close({ timeout: 0 })
  const isGone = (): boolean => {
    collect()
    return refreshed !== undefined && refreshed.deref() === undefined
  }
  await until('nothing keeps its request', isGone)
  expect(runs).toBe(2)
})
