const { redisStore } = require('herdless/redis')
const { Redis } = require('ioredis')
const { makeApp } = require('./app.js')

const redis = new Redis(process.env.REDIS_URL)
const { app, cache } = makeApp({
  store: redisStore(redis),
  namespace: process.env.NAMESPACE,
  async catalogue(path) {
    const response = await fetch(`${process.env.CATALOGUE_URL}/${path}`)
    return response.ok ? await response.json() : undefined
  },
})
const server = app.listen(0, '127.0.0.1', () => console.log(`listens on ${server.address().port}`))

process.once('SIGTERM', () => {
  server.close(async () => {
    await cache.close()
    await redis.quit()
  })
})
