import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { cacheResponses, type CacheResponsesOptions } from '../../src/express/index.ts'
import { fileOf, siteOf, siteWith } from './support/site.ts'

let told: string[] = []

beforeEach(() => {
  told = []
  vi.stubEnv('NODE_ENV', 'development')
  vi.spyOn(process, 'emitWarning').mockImplementation((text, options) => {
    told.push(`${(options as { code: string }).code} ${String(text)}`)
  })
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

describe('requests with cookies', () => {
  async function after(requests: number, options: CacheResponsesOptions, plain?: number): Promise<string[]> {
    await using site = await siteOf((_req, res) => void res.end('page'), { options })
    for (let index = 0; index < requests; index++)
      await site.get('/', index === plain ? {} : { cookie: `visitor=${index}` })
    return told
  }

  test('a hundred in a row that bypass the cache are warned of, with what to write', async () => {
    const [warning, ...more] = await after(201, {})
    expect(warning).toMatch(/^HERDLESS_COOKIES .*`cookies: 'hide'`.*`cookies: 'show', user: /)
    expect(more).toEqual([])
  })

  test.for([
    ['ninety-nine', 99, {}, undefined],
    ['a hundred with another among them', 101, {}, 50],
    ['a hundred where the options say that they bypass', 100, { cookies: 'pass' }, undefined],
  ] as const)('%s are not', async ([, requests, options, plain]) => {
    expect(await after(requests, options, plain)).toEqual([])
  })
})

describe('a file of sendFile', () => {
  async function sent(ttl: CacheResponsesOptions['ttl'], options?: object): Promise<{ cache: string }> {
    const file = await fileOf('<p>page')
    await using site = await siteWith((app, cache) => {
      app.get('/', cacheResponses(cache, { ttl }), (_req, res) => res.sendFile(file, options as object))
    })
    await site.get('/')
    return await site.get('/')
  }

  test('that was not told how long it holds is revalidated, and warned of in development', async () => {
    const { cache } = await sent('1m')
    expect(cache).toContain('fwd=stale')
    expect(told).toEqual([expect.stringMatching(/^HERDLESS_MAX_AGE .*`sendFile\(path, \{ maxAge: 60_000 \}\)`/)])
  })

  test('is not warned of in production', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    await sent('1m')
    expect(told).toEqual([])
  })

  test.for([
    ['that was told', '1m', { maxAge: 60_000 }],
    ['that leaves it to the cache', '1m', { cacheControl: false }],
  ] as const)('%s is a hit, without a warning', async ([, ttl, options]) => {
    const { cache } = await sent(ttl, options)
    expect(cache).toContain('hit')
    expect(told).toEqual([])
  })

  test('is not warned of where the options have no ttl', async () => {
    await sent(undefined)
    expect(told).toEqual([])
  })
})
