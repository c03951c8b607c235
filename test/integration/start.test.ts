import { expect, test } from 'vitest'
import { createCache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { startRedis } from '../support/servers.ts'

test('a hundred keys that are read before the time of the server is known ask for it once', async () => {
  await using server = await startRedis()
  const client = server.connect()
  await server.resetCounts()
  await using cache = createCache({ store: redisStore(client) })
  const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`)
  const found = await Promise.all(keys.map((key) => cache.peek(key)))
  expect(found.every(({ state }) => state === 'missing')).toBe(true)
  // One when the store is opened, and one for those who cannot wait for it.
  expect((await server.commandCounts())['time']).toBeLessThanOrEqual(2)
})
