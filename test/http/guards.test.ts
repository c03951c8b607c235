import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { cacheResponses } from '../../src/express/index.ts'
import { siteWith } from './support/site.ts'

describe('a guard behind the cache', () => {
  const names = ['x-api-key', 'api-key', 'x-auth-token', 'x-access-token', 'proxy-authorization']

  test.each(names)('that reads %s is asked on every request', async (name) => {
    let asked = 0
    await using site = await siteWith((app, cache) => {
      app.use(cacheResponses(cache, { ttl: '1m' }))
      app.get('/', (req, res) => {
        asked++
        if (req.get(name) === 'of ada') res.send('for members')
        else res.sendStatus(401)
      })
    })
    const ada = { [name]: 'of ada' }
    const replies = [await site.get('/', ada), await site.get('/', ada), await site.get('/', { [name]: 'made up' })]
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 401])
    expect(replies[0]?.cache).toBe(`herdless; fwd=uri-miss; detail=undeclared:${name}`)
    expect(asked).toBe(3)
  })

  test('that reads a field declared in `vary` is asked once for each value', async () => {
    let asked = 0
    await using site = await siteWith((app, cache) => {
      app.use(cacheResponses(cache, { ttl: '1m', vary: ['x-api-key'] }))
      app.get('/', (req, res) => void res.send(`${++asked} for ${req.get('x-api-key')}`))
    })
    const texts: string[] = []
    for (const key of ['a', 'a', 'b', 'a']) texts.push((await site.get('/', { 'x-api-key': key })).text)
    expect(texts).toEqual(['1 for a', '1 for a', '2 for b', '1 for a'])
  })
})

describe('the connection of a response', () => {
  test('is watched between two parts of the answer', async () => {
    let runs = 0
    await using site = await siteWith((app, cache) => {
      app.use(cacheResponses(cache, { ttl: '1m' }))
      app.get('/', (_req, res) => {
        runs++
        res.write('from port ')
        res.end(`${res.socket?.remotePort}`)
      })
    })
    const replies = [await site.get(), await site.get()]
    expect(replies.map(({ text }) => text)).toEqual([1, 2].map(() => expect.stringMatching(/^from port \d+$/)))
    expect(replies.at(-1)?.cache).not.toContain('hit')
    expect(runs).toBe(2)
  })
})

describe('a refresh in the background', () => {
  test('runs outside the context that earlier middleware has entered for a client', async () => {
    const storage = new AsyncLocalStorage<string>()
    const seen: (string | undefined)[] = []
    await using site = await siteWith((app, cache) => {
      app.use((req, _res, next) => storage.run(req.get('x-who') ?? 'nobody', next))
      app.use(cacheResponses(cache, { ttl: 1, grace: '1m', shared: ['async'] }))
      app.get('/', (_req, res) => {
        seen.push(storage.getStore())
        res.send('page')
      })
    })
    await site.get('/', { 'x-who': 'ada' })
    await until('the page is stale, and is refreshed', async () => {
      await site.get('/', { 'x-who': 'bob' })
      return seen.length > 1
    })
    expect(seen.slice(0, 2)).toEqual(['ada', undefined])
  })
})
