const { randomUUID } = require('node:crypto')
const { redisStore } = require('herdless/redis')
const { Redis } = require('ioredis')
const request = require('supertest')
const { makeApp } = require('./app.js')

/** @type {jest.Mock} */
const catalogue = jest.fn(async (path) => (path.endsWith('/404') ? undefined : { id: 1, name: path }))

describe.each(['in memory', 'on Redis'])('with a cache %s', (where) => {
  let redis
  let app
  let cache
  let server

  beforeEach(async () => {
    catalogue.mockClear()
    if (where === 'on Redis') {
      redis = new Redis(process.env.REDIS_URL)
    }
    ;({ app, cache } = makeApp({ catalogue, namespace: randomUUID(), ...(redis && { store: redisStore(redis) }) }))
    server = app.listen(0)
  })

  afterEach(async () => {
    jest.useRealTimers()
    await new Promise((resolve) => server.close(resolve))
    await cache.close()
    await redis?.quit()
    redis = undefined
  })

  test('what is not found is 404 for all who ask, and the catalogue is asked once', async () => {
    const ask = () => request(server).get('/customers/404')
    const answers = await Promise.all([ask(), ask(), ask()])
    answers.push(await ask())
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    expect(answers.map(({ body }) => body.error)).toEqual(Array(4).fill('There is no customers/404'))
    expect(catalogue).toHaveBeenCalledTimes(1)
  })

  test('a cached page is found under the same host', async () => {
    const statuses = []
    for (let count = 0; count < 2; count++) {
      const { text, headers } = await request(server).get('/pages/1')
      expect(text).toBe('<h1>products/1</h1>')
      statuses.push(headers['cache-status'])
    }
    expect(statuses).toEqual([expect.stringContaining('stored'), expect.stringContaining('herdless; hit')])
    for (let count = 0; count < 2; count++) {
      const { headers } = await request(app).get('/pages/1').set('Host', 'shop.test')
      statuses.push(headers['cache-status'])
    }
    expect(statuses.slice(2)).toEqual([expect.stringContaining('stored'), expect.stringContaining('herdless; hit')])
  })

  test('supertest asks at another port each time, which is another page', async () => {
    for (let count = 0; count < 2; count++) {
      const { headers } = await request(app).get('/pages/1')
      expect(headers['cache-status']).toContain('fwd=uri-miss')
    }
  })

  test('fake timers may be on while the app is asked', async () => {
    await cache.getOrLoad('connected', () => true)
    jest.useFakeTimers({ doNotFake: ['nextTick'] })
    const ask = () => request(server).get('/products/1')
    expect((await ask()).body).toEqual({ id: 1, name: 'products/1' })
    expect((await ask()).status).toBe(200)
    expect(catalogue).toHaveBeenCalledTimes(1)
  })
})
