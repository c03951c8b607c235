import { createServer } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { expect, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { siteOn } from './support/site.ts'

/** Whether V8 keeps the properties of an object in fields, not in a hash table. */
function isFast(object: object): boolean {
  setFlagsFromString('--allow-natives-syntax')
  try {
    return (runInThisContext('(object) => %HasFastProperties(object)') as typeof isFast)(object)
  } finally {
    setFlagsFromString('--no-allow-natives-syntax')
  }
}

test('V8 keeps the messages of a miss fast in node:http', async () => {
  const seen: boolean[] = []
  await using site = await siteOn(async (cache) => {
    const middleware = cacheResponses(cache, { ttl: '1m' })
    return createServer((request, response) => {
      middleware(request, response, () => {
        seen.push(isFast(request), isFast(response))
        response.end('page')
      })
    })
  })
  const { cache } = await site.get('/')
  expect(cache).toContain('stored')
  expect(seen).toEqual([true, true])
})
