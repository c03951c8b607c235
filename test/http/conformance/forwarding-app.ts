import { once } from 'node:events'
import { Agent, createServer, request, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import express, { type Express, type RequestHandler } from 'express'

/** An app that listens. */
export interface ListeningApp extends AsyncDisposable {
  readonly url: string
}

/** An Express app that has nothing but this middleware, and behind it a proxy to an origin. */
export function forwardingApp(
  middleware: RequestHandler,
  origin: { readonly host: string; readonly port: number },
): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.use(middleware)
  app.use(forward(origin))
  return app
}

/** Makes a server that has this behind it. */
export type MakeServer = (app: RequestListener) => Promise<Server>

/** Lets it listen on a free port. */
export async function listening(
  app: RequestListener,
  make: MakeServer = async () => createServer(app),
): Promise<ListeningApp> {
  const server = await make(app)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/**
 * A reverse proxy that changes nothing: the same request to the origin, its answer back, both as they come. An origin
 * that cannot be reached, or ends before its headers, is a 502; one that ends later ends the connection of the client.
 */
export function forward({ host, port }: { readonly host: string; readonly port: number }): RequestHandler {
  // A connection that is used again may be one that the origin is just closing.
  const agent = new Agent({ keepAlive: false })
  return (req, res) => {
    const headers = endToEnd(req.rawHeaders)
    // A body whose length was not told has to be framed here too, whatever the method.
    if (req.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked')
    const upstream = request({ host, port, agent, method: req.method, path: req.originalUrl, headers })
    let answered = false
    upstream.on('information', ({ statusCode, headers: hints }) => {
      if (statusCode === 102) res.writeProcessing()
      // Without a link it would send none.
      if (statusCode === 103) res.writeEarlyHints(hints as Record<string, string>)
    })
    upstream.on('response', (answer) => {
      answered = true
      res.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders))
      pipeline(answer, res, () => {})
    })
    upstream.on('error', () => {
      // The answer itself says when it is cut off. More bytes than `Content-Length` says are an error too, yet not of it.
      if (answered || res.destroyed) return
      res.writeHead(502, { 'Content-Type': 'text/plain' }).end('The origin did not answer')
    })
    res.on('close', () => upstream.destroy())
    req.pipe(upstream)
  }
}

/** What is about one connection, and so is not forwarded. RFC 9110 §7.6.1 */
const hopByHop: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** Names and values in turn, without those of one connection, be they always so or named by `Connection`. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  const pairs = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : []))
  const named = pairs.flatMap(([name = '', value = '']) =>
    name.toLowerCase() === 'connection' ? value.split(',').map((word) => word.trim().toLowerCase()) : [],
  )
  return pairs.filter(([name = '']) => ![...hopByHop, ...named].includes(name.toLowerCase())).flat()
}
