/**
 * What responses must do on any runtime: prints the outcomes of some requests to a handler of `Request` and `Response`, by
 * calls and over its own server, and ends by itself.
 */
import process from 'node:process'
import { createCache } from 'herdless'
import { cacheResponses } from 'herdless/fetch'

const page = (text, init) => new Response(text, init)
const stale = { headers: { 'cache-control': 'max-age=0, stale-while-revalidate=60' } }

class Copy extends Request {}

function opened(options = {}) {
  const cache = createCache({ ttl: '1m' })
  const cached = cacheResponses(cache, options)
  const stored = () => new Promise((resolve) => cache.on('fill', resolve))
  const ask = async (handler, headers = {}, url = 'http://site/') => {
    const response = await cached(new Request(url, { headers }), handler)
    const status = response.headers.get('cache-status') ?? ''
    return [response.status, await response.text(), status.replace(/ttl=-?\d+/, 'ttl')]
  }
  return { cache, ask, stored }
}

/** Asks twice, with one value of a field and another. */
async function twice(handler, options) {
  const { ask } = opened(options)
  return [await ask(handler, { 'x-a': '1', cookie: 'a=1' }), await ask(handler, { 'x-a': '2', cookie: 'a=2' })]
}

async function outcomes() {
  const said = {}
  const hide = { cookies: 'hide' }
  said.page = await twice(() => page('page'), hide)
  said.field = await twice(({ headers }) => page(headers.get('x-a')), hide)
  said.cookie = await twice(({ headers }) => page(String(headers.get('cookie'))), hide)
  const copies = {
    clone: (request) => request.clone(),
    copy: (request) => new Request(request),
    moved: (request) => new Request('http://other/', request),
    classed: (request) => new Copy(request),
  }
  for (const [name, make] of Object.entries(copies))
    said[name] = await twice((request) => page(make(request).headers.get('x-a')), hide)
  said.fields = await twice(({ headers }) => page(new Headers(headers).get('x-a')), hide)
  said.query = await twice(({ url, method }) => page(`${method} ${url}`), hide)
  said.error = await opened()
    .ask(() => Promise.reject(new RangeError('no')))
    .catch(String)

  const crowd = opened()
  let runs = 0
  const handler = async () => (await new Promise((resolve) => setTimeout(resolve, 50)), page(`run ${++runs}`))
  said.crowd = [
    ...new Set((await Promise.all(Array.from({ length: 20 }, () => crowd.ask(handler)))).map(([, text]) => text)),
  ]

  const behind = opened()
  const filled = behind.stored()
  await behind.ask(() => page('old', stale))
  await filled
  await new Promise((resolve) => setTimeout(resolve, 20))
  const refreshed = behind.stored()
  said.stale = await behind.ask(() => page('new', { headers: { 'cache-control': 'max-age=60' } }))
  await refreshed
  said.fresh = await behind.ask(() => page('other'))

  const streams = opened()
  let controller
  const body = () => new ReadableStream({ start: (each) => void (controller = each) })
  const streamed = cacheResponses(streams.cache)
  const first = await streamed(new Request('http://site/stream'), () => page(body()))
  const second = await streamed(new Request('http://site/stream'), () => page('other'))
  await first.body.cancel()
  for (const piece of ['run', ' 1']) controller.enqueue(new TextEncoder().encode(piece))
  controller.close()
  said.stream = [await second.text(), second.headers.get('cache-status')]
  return said
}

/** Serves by the server of the runtime. */
async function served() {
  const cached = cacheResponses(createCache({ ttl: '1m' }))
  let runs = 0
  const fetchHandler = (request) =>
    cached(request, ({ headers }) => page(`run ${++runs} ${headers.get('accept-language')}`))
  const { url, close } = await listening(fetchHandler)
  const texts = []
  for (const language of ['de', 'en', 'de']) {
    const answer = await fetch(url, { headers: { 'accept-language': language } })
    texts.push(await answer.text(), answer.headers.get('cache-status')?.replace(/ttl=\d+/, 'ttl'))
  }
  const { headers, status } = await fetch(url, { method: 'HEAD', headers: { 'accept-language': 'de' } })
  texts.push(status, headers.get('content-length'))
  await close()
  return texts
}

async function listening(handler) {
  if (globalThis.Bun !== undefined) {
    const server = Bun.serve({ port: 0, fetch: handler })
    return { url: server.url.href, close: () => server.stop(true) }
  }
  if (globalThis.Deno !== undefined) {
    const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: () => {} }, handler)
    return { url: `http://127.0.0.1:${server.addr.port}/`, close: () => server.shutdown() }
  }
  const { createServer } = await import('node:http')
  const server = createServer(async ({ method, url, headers }, outgoing) => {
    const response = await handler(new Request(`http://${headers.host}${url}`, { method, headers }))
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text())
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() }
}

const said = { ...(await outcomes()), served: await served() }
console.log(JSON.stringify(said))
process.exit(0)
