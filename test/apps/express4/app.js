const express = require('express4')
const { createCache } = require('herdless')
const { cacheResponses } = require('herdless/express')
const { NotFoundError } = require('./not-found-error.js')

/**
 * @param {{ store?: import('herdless').Store, namespace?: string, catalogue: (path: string) => Promise<object | undefined> }} options
 *   `catalogue` asks the service that knows all products and customers
 */
function makeApp({ store, namespace = 'express4', catalogue }) {
  const cache = createCache({ ...(store && { store }), namespace, errors: [NotFoundError] })

  /** @param {string} path */
  async function found(path) {
    const item = await catalogue(path)
    if (item === undefined) throw new NotFoundError(`There is no ${path}`)
    return item
  }

  /** @param {string} id */
  const product = (id) =>
    cache.getOrLoad(`product:${id}`, () => found(`products/${id}`), {
      ttl: '1s',
      grace: '10m',
      negativeTtl: '10s',
      errorKind: (error) => (error instanceof NotFoundError ? 'answer' : 'failure'),
    })

  // Express 4 leaves it to handlers to pass their errors on.
  const handling = (handle) => async (req, res, next) => {
    try {
      await handle(req, res)
    } catch (error) {
      next(error)
    }
  }
  const app = express()
  app.get(
    '/products/:id',
    handling(async (req, res) => res.json(await product(req.params.id))),
  )
  app.get(
    '/customers/:id',
    handling(async (req, res) => {
      const path = `customers/${req.params.id}`
      res.json(await cache.getOrLoad(path, () => found(path), { failureCooldown: '10s' }))
    }),
  )
  app.delete(
    '/products/:id',
    handling(async (req, res) => {
      const { id } = req.params
      await catalogue(`removed/${id}`)
      await cache.invalidate(`product:${id}`)
      res.sendStatus(204)
    }),
  )
  app.get('/stats', (_req, res) => res.json(cache.stats()))
  app.get(
    '/pages/:id',
    cacheResponses(cache, { ttl: '1m' }),
    handling(async (req, res) => {
      const { name } = await found(`products/${req.params.id}`)
      res.send(`<h1>${name}</h1>`)
    }),
  )

  app.use((error, _req, res, next) => {
    if (res.headersSent) return next(error)
    res.status(error instanceof NotFoundError ? 404 : 500).json({ error: error.message })
  })
  return { app, cache }
}

module.exports = { makeApp }
