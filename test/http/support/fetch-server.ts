import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { once } from 'node:events'

/** A handler of the Fetch standard. */
export type FetchHandler = (request: Request) => Promise<Response>

/** A server of node:http for a handler, whose requests are those of the runtime itself. It does not listen yet. */
export function fetchServer(handler: FetchHandler): Server {
  return createServer((incoming, outgoing) => void answer(handler, incoming, outgoing))
}

async function answer(handler: FetchHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController()
  outgoing.once('close', () => outgoing.writableFinished || gone.abort())
  try {
    const response = await handler(requestOf(incoming, gone.signal))
    const cookies = response.headers.getSetCookie()
    outgoing.writeHead(response.status, [
      ...[...response.headers].filter(([name]) => name !== 'set-cookie').flat(),
      ...cookies.flatMap((cookie) => ['Set-Cookie', cookie]),
    ])
    if (response.body === null) return void outgoing.end()
    outgoing.flushHeaders()
    const reader = response.body.getReader()
    outgoing.once('close', () => void reader.cancel().catch(() => undefined))
    for (let read = await reader.read(); !read.done; read = await reader.read())
      if (!outgoing.write(read.value)) await Promise.race([once(outgoing, 'drain'), once(outgoing, 'close')])
    outgoing.end()
  } catch {
    if (outgoing.headersSent) outgoing.destroy()
    else outgoing.writeHead(500).end('error of the server')
  }
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/', rawHeaders } = incoming
  const headers = new Headers()
  rawHeaders.forEach((name, index) => {
    if (index % 2 === 0) headers.append(name, rawHeaders[index + 1] ?? '')
  })
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const body = hasBody ? { body: Readable.toWeb(incoming) as unknown as ReadableStream, duplex: 'half' as const } : {}
  return new Request(`http://${incoming.headers.host ?? 'localhost'}${url}`, { method, headers, signal, ...body })
}
