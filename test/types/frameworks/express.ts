/** In Express, options are functions of its request, and handlers keep the types of theirs. */
import { createCache } from 'herdless'
import { cacheResponses, type CacheResponsesOptions } from 'herdless/express'
import express, { Router, type Request } from 'express'

const cache = createCache()
const app = express()

// By itself.
const byAddress = cacheResponses(cache, {
  key: (req) => req.originalUrl,
  ttl: (req) => (req.path === '/' ? '1m' : '5m'),
})
const byUser = cacheResponses(cache, { user: (req) => req.get('x-user'), tags: (req) => [`host:${req.hostname}`] })
const router = Router().use(byAddress)
app.use(byUser, router)
app.use('/shop', cacheResponses(cache, { skip: (req) => req.query.preview !== undefined }))

// Before a handler, which knows its parameters.
app.get('/products/:id', cacheResponses(cache, { key: (req) => req.originalUrl }), byUser, (req, res) => {
  const id: string = req.params.id
  // @ts-expect-error: the path has no such parameter
  const name: string = req.params.name
  res.json({ id, name })
})
app.get('/pages/:page', byAddress, (req, res) => void res.send(req.params.page.toUpperCase()))
router.route('/users/:user').get(cacheResponses(cache), (req, res) => void res.send(req.params.user.toUpperCase()))

// With the type of a request that earlier middleware has changed.
interface SignedIn extends Request {
  readonly account: { readonly id: number }
}
cacheResponses<SignedIn>(cache, { user: (req) => req.account.id })
cacheResponses<Request<{ id: string }>>(cache, { key: (req) => req.params.id })
const options: CacheResponsesOptions<Request, Request> = { key: (req) => req.originalUrl }
cacheResponses(cache, options)

// @ts-expect-error: no request has that
cacheResponses(cache, { key: (req) => req.originalUri })
// @ts-expect-error: a key is a string
cacheResponses(cache, { key: (req) => req.query })
// @ts-expect-error: a duration has no blank
cacheResponses(cache, { ttl: '5 m' })
