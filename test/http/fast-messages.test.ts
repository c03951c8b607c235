import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { isFast } from './support/hidden-class.ts'
import { siteOn, type Site } from './support/site.ts'

type Watch = (request: IncomingMessage, response: ServerResponse) => void

/** Apps with a cache and a handler, which is given its messages. */
const apps: Record<string, (watch: Watch) => Promise<Site>> = {
  'node:http': (watch) =>
    siteOn(async (cache) => {
      const middleware = cacheResponses(cache, { ttl: '1m' })
      return createServer((request, response) => {
        middleware(request, response, () => {
          watch(request, response)
          response.end('page')
        })
      })
    }),
}

test.each(Object.entries(apps))('V8 keeps the messages of a miss fast in %s', async (_, open) => {
  const seen: boolean[] = []
  await using site = await open((request, response) => seen.push(isFast(request), isFast(response)))
  const { cache } = await site.get('/')
  expect(cache).toContain('stored')
  expect(seen).toEqual([true, true])
})
