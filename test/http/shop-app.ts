import { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import type express from 'express'
import type { ErrorRequestHandler, Express, RequestHandler } from 'express'

const file = fileURLToPath(new URL('../../LICENSE', import.meta.url))

/** An app that uses what Express has for requests and responses, with apps mounted on it that are set otherwise. */
export function shopApp(make: typeof express): Express {
  const app = make()
  // Errors are not written to the console.
  app.set('env', 'test')
  app.set('trust proxy', 'loopback')
  app.use(make.json({ limit: 100 }), make.urlencoded({ extended: false }))

  app.get('/who', who(app))
  app.get('/json', (_req, res) => void res.json({ plain: true, list: [1, 2, { deep: 'ü' }] }))
  app.get('/text', (_req, res) => void res.send('a text'))
  app.get('/bytes', (_req, res) => void res.send(Buffer.from([0, 1, 254, 255])))
  app.get('/file', (_req, res) => res.sendFile(file))
  app.get('/download', (_req, res) => res.download(file, 'terms.txt'))
  app.get('/moved', (_req, res) => res.redirect(301, '/json'))
  app.get('/cookies', (_req, res) => {
    res.cookie('one', 'a b', { httpOnly: true, sameSite: 'lax' }).cookie('two', { json: 1 }).clearCookie('three')
    res.location('/here').vary('Accept').links({ next: '/2' }).append('X-Many', ['1', '2']).type('txt').end('set')
  })
  app.get('/format', (_req, res) => {
    res.format({ text: () => void res.send('text'), json: () => void res.json('json') })
  })
  app.get('/nothing', (_req, res) => void res.sendStatus(204))
  app.get('/jsonp', (_req, res) => void res.jsonp({ a: 1 }))
  app.get('/stream', (req, res) => {
    const chunked = req.httpVersion === '1.1'
    res.writeHead(202, 'Fine', { 'X-Head': 'written', ...(chunked && { Trailer: 'X-End' }) })
    res.write('6d6f7265', 'hex')
    if (chunked) res.addTrailers({ 'X-End': 'reached' })
    res.end(' and more')
  })
  app.post('/body', (req, res) => void res.json({ body: req.body as unknown, type: req.is('json') }))
  app.get('/fails', () => {
    throw Object.assign(new Error('a fault'), { stack: 'a fault, as it stands' })
  })
  app.get('/refused', (_req, _res, next) => next(Object.assign(new Error('not you'), { refused: true })))

  const router = make.Router({ mergeParams: true })
  router.get('/:item', (req, res) => void res.json({ params: req.params, baseUrl: req.baseUrl, url: req.url }))
  app.use('/shelf/:shelf', router)

  app.use('/admin', adminApp(make))
  app.get('/admin/beyond', who(app))
  const refused: ErrorRequestHandler = (error: { refused?: boolean }, req, res, next) => {
    if (error.refused) res.status(403).json({ refused: req.path, byMain: req.app === app && res.app === app })
    else next(error)
  }
  app.use(refused)
  return app
}

/** An app with settings of its own, and one mounted on it in turn. */
function adminApp(make: typeof express): Express {
  const admin = make()
  admin.set('json spaces', 2)
  admin.set('trust proxy', false)
  admin.get('/who', who(admin))
  admin.get('/refused', (_req, _res, next) => next(Object.assign(new Error('not you'), { refused: true })))
  const inner = make()
  inner.disable('etag')
  inner.response.json = function json(body: unknown) {
    return this.type('application/inner').send(`inner ${JSON.stringify(body)}`)
  }
  inner.get('/who', who(inner))
  admin.use('/inner', inner)
  admin.get('/inner/beyond', who(admin))
  return admin
}

/** Answers with what a request says of itself in this app. */
function who(app: Express): RequestHandler {
  return (req, res) => {
    const { ip, ips, hostname, protocol, secure, subdomains, xhr, fresh, path, query, baseUrl, originalUrl } = req
    const seen = { ip, ips, hostname, protocol, secure, subdomains, xhr, fresh, path, query, baseUrl, originalUrl }
    const own = [Object.getPrototypeOf(req) === app.request, Object.getPrototypeOf(res) === app.response]
    res.json({
      ...seen,
      own,
      header: req.get('x-some'),
      accepts: [req.accepts('json', 'html'), req.acceptsLanguages('de', 'fr'), req.acceptsEncodings('gzip')],
      range: req.range(1_000),
      app: [req.app === app, res.app === app, req.res === res, res.req === req],
      http: [req instanceof IncomingMessage, res instanceof ServerResponse],
      keys: [Object.keys(req), Object.keys(res)],
    })
  }
}
