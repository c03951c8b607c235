import express from 'express'
import { cacheResponses } from 'herdless/express'
import { cartPage, productPage, shopPage } from './pages.mjs'

/**
 * The shop: pages that are the same for everybody, and are cached; a cart that is not; and a way to change a price.
 *
 * @param {import('pg').Pool} db
 * @param {import('herdless').Cache} cache
 */
export function shop(db, cache) {
  const app = express()
  app.use(express.json())
  // What is said before the cache is of this process, and is stored with no page.
  app.use((_request, response, next) => {
    response.set('X-Process', String(process.pid))
    next()
  })

  // Every visitor has a cookie. These pages never see it, so they are for all.
  const forEverybody = cacheResponses(cache, { ttl: '1h', cookies: 'hide' })

  app.get('/', forEverybody, async (_request, response) => {
    const { rows } = await db.query('select * from product order by id')
    response.set('Cache-Tag', rows.map(tagOf).join()).send(shopPage(rows))
  })

  app.get('/products/:id', forEverybody, async (request, response) => {
    // It counts how often its page is made.
    const { rows } = await db.query('update product set made = made + 1 where id = $1 returning *', [request.params.id])
    if (rows.length === 0) response.sendStatus(404)
    else response.set('Cache-Tag', tagOf(rows[0])).send(productPage(rows[0]))
  })

  app.put('/products/:id', async (request, response) => {
    const { id } = request.params
    await db.query('update product set cents = $2 where id = $1', [id, request.body.cents])
    await cache.invalidateTags([tagOf({ id })])
    response.sendStatus(204)
  })

  app.get('/cart', async (request, response) => {
    const inCart = 'select name, pieces from cart join product on id = product where visitor = $1'
    const { rows } = await db.query(inCart, [visitorOf(request)])
    response.set('Cache-Control', 'private').send(cartPage(rows))
  })

  app.post('/cart/:id', async (request, response) => {
    const add = `insert into cart values ($1, $2, 1)
      on conflict (visitor, product) do update set pieces = cart.pieces + 1`
    await db.query(add, [visitorOf(request), request.params.id])
    response.redirect(303, '/cart')
  })

  return app
}

/** @param {{ id: number | string }} product */
const tagOf = ({ id }) => `product:${id}`

/** @param {express.Request} request */
const visitorOf = (request) => /\bvisitor=(\w+)/.exec(request.get('cookie') ?? '')?.[1] ?? 'nobody'
