import { randomUUID } from 'node:crypto'
import { fastify, type FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { cacheResponses } from '../../src/fastify/index.ts'
import { createCache, memoryStore, type Cache } from '../../src/index.ts'

/** An app that does not listen, whose pages count their runs. */
async function appOf(): Promise<{ app: FastifyInstance; cache: Cache }> {
  const cache = createCache({ namespace: randomUUID(), store: memoryStore(), ttl: '1m' })
  const app = fastify()
  let runs = 0
  app.addHook('onRequest', cacheResponses(cache))
  app.get('/page', async () => `run ${++runs}`)
  app.get('/object', async () => ({ run: ++runs }))
  app.get('/private', async (_request, reply) => {
    void reply.header('Cache-Control', 'private')
    return `run ${++runs}`
  })
  app.get('/written', (_request, reply) => {
    reply.hijack()
    reply.raw.write('run ')
    reply.raw.end(String(++runs))
  })
  app.get('/distinct', async ({ raw }) => `${typeof raw.headersDistinct}`)
  app.get('/agent', async ({ headers }) => `run ${++runs} for ${headers['user-agent']}`)
  app.get('/address', async ({ socket }) => `run ${++runs} for ${socket.remoteAddress}`)
  app.post('/page', async () => 'changed')
  await app.ready()
  return { app, cache }
}

describe('a request that is injected', () => {
  test.each(['/page', '/object', '/written'])(
    'of %s is answered, by the handler and then from what is stored',
    async (path) => {
      const { app, cache } = await appOf()
      const [first, second] = [await app.inject(path), await app.inject(path)]
      expect(first).toMatchObject({ statusCode: 200, headers: { 'cache-status': 'herdless; fwd=uri-miss; stored' } })
      expect(second.headers['cache-status']).toMatch(/^herdless; hit/)
      expect(first.payload).toMatch(/^(run 1|\{"run":1\})$/)
      expect(second.payload).toBe(first.payload)
      await cache.close()
    },
  )

  test('is answered once by the handler for many at once', async () => {
    const { app, cache } = await appOf()
    const all = await Promise.all(Array.from({ length: 10 }, () => app.inject('/page')))
    expect(new Set(all.map(({ payload }) => payload))).toEqual(new Set(['run 1']))
    await cache.close()
  })

  test('is told why its answer is not stored', async () => {
    const { app, cache } = await appOf()
    const answer = await app.inject('/private')
    expect(answer.payload).toBe('run 1')
    expect(answer.headers['cache-status']).toBe('herdless; fwd=uri-miss; detail=private')
    await cache.close()
  })

  test('finds what it does without a cache: no fields of its own', async () => {
    const { app, cache } = await appOf()
    expect((await app.inject('/distinct')).payload).toBe('undefined')
    await cache.close()
  })

  test('has an answer of its own where the handler reads a field or an address', async () => {
    const { app, cache } = await appOf()
    for (const path of ['/agent', '/address']) {
      const [ada, bob] = [
        await app.inject({ url: path, headers: { 'user-agent': 'ada' }, remoteAddress: '10.0.0.1' }),
        await app.inject({ url: path, headers: { 'user-agent': 'bob' }, remoteAddress: '10.0.0.2' }),
      ]
      expect(ada.payload).not.toBe(bob.payload)
    }
    await cache.close()
  })

  test('that changes something voids what is stored', async () => {
    const { app, cache } = await appOf()
    await app.inject('/page')
    expect((await app.inject({ method: 'POST', url: '/page' })).payload).toBe('changed')
    expect((await app.inject('/page')).payload).toBe('run 2')
    await cache.close()
  })
})
