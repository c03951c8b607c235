import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { reportEvery } from './settings.mjs'

/**
 * The page, on loopback only: its files, its events (`/events`), and the actions of its buttons (`POST /actions/<name>`).
 * A page of another site can neither read nor act: the server answers only to its own name, and an action needs a header
 * that no other site may send.
 */

const folder = fileURLToPath(new URL('page/', import.meta.url))

/** @type {Record<string, string>} */
const types = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const policy = "default-src 'self'; frame-ancestors 'none'"

/**
 * @param {object} live
 * @param {() => object} live.snapshot
 * @param {(name: string, value?: string) => Promise<unknown>} live.act
 * @param {number} [live.port]  any free port by default
 */
export async function servePage({ snapshot, act, port = 0 }) {
  const files = new Set(await readdir(folder))
  /** @type {Set<import('node:http').ServerResponse>} */
  const viewers = new Set()

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => {
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(String(error instanceof Error ? error.message : error))
    })
  })

  /** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
  async function handle(request, response) {
    const { method, url = '/', headers } = request
    if (!isOwnName(headers.host)) return void response.writeHead(421).end()
    const { pathname, searchParams } = new URL(url, 'http://lab')
    if (method === 'POST' && pathname.startsWith('/actions/')) {
      if (headers['x-herdless-lab'] === undefined) return void response.writeHead(403).end()
      await act(pathname.slice('/actions/'.length), searchParams.get('value') ?? undefined)
      return void response.writeHead(204).end()
    }
    if (method !== 'GET') return void response.writeHead(405).end()
    if (pathname === '/events') return follow(request, response)
    const name = pathname === '/' ? 'index.html' : pathname.slice(1)
    const type = types[extname(name)]
    if (type === undefined || !files.has(name)) return void response.writeHead(404).end()
    const body = await readFile(join(folder, name))
    response.writeHead(200, { 'content-type': type, 'content-security-policy': policy, 'cache-control': 'no-cache' })
    response.end(body)
  }

  /** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
  function follow(request, response) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(eventOf(snapshot()))
    viewers.add(response)
    request.once('close', () => viewers.delete(response))
  }

  const sending = setInterval(() => {
    if (viewers.size === 0) return
    const event = eventOf(snapshot())
    for (const viewer of viewers) if (!viewer.writableNeedDrain) viewer.write(event)
  }, reportEvery)

  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${address.port}/`,
    get viewers() {
      return viewers.size
    },
    close() {
      clearInterval(sending)
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Against DNS rebinding: a name of another site may point to this machine. @param {string | undefined} host */
function isOwnName(host = '') {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(host.replace(/:\d+$/, ''))
}

/** @param {object} snapshot */
function eventOf(snapshot) {
  return `data: ${JSON.stringify(snapshot)}\n\n`
}
