import { Readable } from 'node:stream'
import compress from '@fastify/compress'
import cors from '@fastify/cors'
import { fastify, type FastifyReply, type FastifyRequest } from 'fastify'
import { describe, expect, test } from 'vitest'
import { cacheResponses } from '../../src/fastify/index.ts'
import { behavesAsAnApp, failed, longText, slow, stale, type MakeApp, type Story } from './support/app-contract.ts'
import { siteOn } from './support/site.ts'

/** What is answered at a path. */
type Routes = Record<string, (request: FastifyRequest, reply: FastifyReply, run: number) => unknown>

function routesOf(story: Story): Routes {
  const stream = (run: number): Readable => Readable.from(['run', ` ${run}`])
  return {
    '/object': async (_request, _reply, run) => ({ run }),
    '/text': async (_request, _reply, run) => `run ${run}`,
    '/bytes': (_request, reply) => reply.send(Buffer.from(Array.from({ length: 256 }, (_, each) => each))),
    '/stream': (_request, reply, run) => reply.send(stream(run)),
    '/nothing': (_request, reply) => reply.code(204).header('Cache-Control', 'max-age=60').send(),
    '/tagged': async (_request, reply, run) => (void reply.header('ETag', '"of the handler"'), `run ${run}`),
    '/long': async () => longText,
    '/error': (_request, _reply, run) => failed(run),
    '/fields': async (request) => request.headers,
    '/language': async (request) => request.headers['accept-language'],
    '/agent': async (request) => request.headers['user-agent'],
    '/accepts': async ({ headers }) => (headers.accept?.includes('html') === true ? 'text/html' : 'application/json'),
    '/cookies': async (request) => request.headers.cookie ?? 'none',
    '/cookie': async (_request, reply, run) => (void reply.header('Set-Cookie', `visitor=${run}`), 'page'),
    '/back': async (_request, reply) => (void reply.removeHeader('X-Before'), 'page'),
    '/slow': (_request, reply, run) => reply.send(Readable.from(slow(story, run))),
    '/held': async (request, _reply, run) => {
      await story.gate.opened
      return request.url.endsWith('?error') ? failed(run) : `run ${run}`
    },
    '/stale': async (_request, reply, run) => {
      if (run === 2) await story.gate.opened
      void reply.header('Cache-Control', run === 1 ? stale : 'max-age=60')
      return `run ${run}`
    },
    '/breaks': async (_request, reply, run) => {
      void reply.header('Cache-Control', run === 1 ? stale : 'max-age=60')
      return run === 2 ? failed(run) : `run ${run}`
    },
    '/object-stale': async (_request, reply, run) => (void reply.header('Cache-Control', stale), { run }),
    '/stream-stale': (_request, reply, run) => reply.header('Cache-Control', stale).send(stream(run)),
    '/own': async (_request, _reply, run) => `run ${run}`,
  }
}

const makeApp: MakeApp = async (cache, story, options) => {
  const app = fastify()
  app.addHook('onRequest', async (request, reply) => {
    const { 'x-who': who } = request.headers
    if (typeof who !== 'string') return
    void reply.header('X-Before', who).header('Set-Cookie', `who=${who}`).header('Set-Cookie', `again=${who}`)
  })
  app.addHook('onResponse', async (request, reply) => {
    story.logged.push(`${reply.statusCode} ${request.url}`)
  })
  app.addHook('onSend', async (_request, reply) => void reply.header('X-After', '1'))
  app.setErrorHandler((error, _request, reply) => {
    story.errors.push((error as Error).message)
    void reply.code(500).send(`sorry: ${(error as Error).message}`)
  })
  await app.register(compress, { global: false })
  app.addHook('onRequest', cacheResponses(cache, options))
  for (const [path, answer] of Object.entries(routesOf(story))) {
    const onRequest = path === '/own' ? [cacheResponses(cache, { ttl: '1m' })] : []
    const compresses = path === '/long' ? { compress: { encodings: ['gzip' as const] } } : {}
    app.get(path, { onRequest, ...compresses }, (request, reply) => answer(request, reply, story.ran(path)))
  }
  app.post('/text', async (_request, reply) => void reply.code(204).send())
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  await app.ready()
  return app.server
}

describe('Fastify', () => {
  behavesAsAnApp(makeApp)

  test('@fastify/cors before it is of each request', async () => {
    await using site = await siteOn(async (cache) => {
      const app = fastify()
      await app.register(cors, { origin: ['https://a.example', 'https://b.example'], credentials: true })
      app.addHook('onRequest', cacheResponses(cache, { ttl: '1m' }))
      app.get('/', async (_request, reply) => {
        return { vary: reply.getHeader('vary') }
      })
      app.get('/reads', async (_request, reply) => {
        return { credentials: reply.hasHeader('access-control-allow-credentials') }
      })
      await app.ready()
      return app.server
    })
    const [a, b] = ['https://a.example', 'https://b.example'] as const
    for (const [origin, hit] of [
      [a, false],
      [b, false],
      [a, true],
      [b, true],
    ] as const) {
      const { text, headers, cache } = await site.get('/', { origin })
      expect(JSON.parse(text)).toEqual({ vary: 'Origin' })
      expect([headers['access-control-allow-origin'], headers.vary]).toEqual([origin, 'Origin'])
      expect(cache.includes('hit')).toBe(hit)
      await site.stored()
    }
    const { text, cache } = await site.get('/reads', { origin: a })
    expect([JSON.parse(text), cache]).toEqual([
      { credentials: true },
      expect.stringContaining('detail=undeclared:reply.access-control-allow-credentials'),
    ])
  })

  test('routes of a version are variants', async () => {
    await using site = await siteOn(async (cache) => {
      const app = fastify()
      app.addHook('onRequest', cacheResponses(cache, { ttl: '1m' }))
      for (const version of ['1.0.0', '2.0.0']) app.get('/', { constraints: { version } }, async () => version)
      await app.ready()
      return app.server
    })
    for (const version of ['1.0.0', '2.0.0', '1.0.0', '2.0.0']) {
      expect((await site.get('/', { 'accept-version': version })).text).toBe(version)
      await site.stored()
    }
    expect((await site.get('/', { 'accept-version': '1.0.0' })).cache).toContain('hit')
  })
})
