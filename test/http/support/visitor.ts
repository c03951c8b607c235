import { once } from 'node:events'
import { request as httpRequest, type Agent, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { openRaw, type Raw } from '../attacks/raw.ts'

/** What an answer was to a client that is strict about nothing. */
export interface Reply {
  readonly status: number
  readonly reason: string
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  readonly text: string
  /** What it says in Cache-Status. */
  readonly cache: string
}

/** What is asked for, besides the path. */
export interface Asked {
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: string
  /** Which of the apps is asked. */
  readonly app?: number
  readonly agent?: Agent & { readonly protocol?: string }
}

/** Whoever asks a site that several apps are, each at a port of its own. */
export class Visitor {
  readonly ports: readonly number[]

  constructor(ports: readonly number[]) {
    this.ports = ports
  }

  /** A connection for bytes. */
  async raw(app = 0): Promise<Raw> {
    return await openRaw({ port: this.#port(app) })
  }

  async get(path = '/', headers: Record<string, string | string[]> = {}, asked: Asked = {}): Promise<Reply> {
    return await this.ask(path, { headers, ...asked })
  }

  /** Rejects if the connection ends before the answer does. */
  async ask(path: string, { method = 'GET', headers = {}, body = '', app = 0, agent }: Asked = {}): Promise<Reply> {
    const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const sent = httpRequest({
      port: this.#port(app),
      host: '127.0.0.1',
      path,
      method,
      // In every app it is the same site.
      headers: { host: 'site', ...length, ...headers },
      // An agent for TLS has a protocol of its own.
      ...(agent === undefined ? { agent: false } : { agent, protocol: agent.protocol }),
    })
    // An answer that is not cut off is an answer, whatever becomes of the connection.
    sent.on('error', () => {})
    sent.end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const chunks = (await response.toArray()) as Buffer[]
    const bytes = Buffer.concat(chunks)
    return {
      status: response.statusCode ?? 0,
      reason: response.statusMessage ?? '',
      headers: response.headers,
      rawHeaders: response.rawHeaders,
      body: bytes,
      text: bytes.toString(),
      cache: String(response.headers['cache-status']),
    }
  }

  /** Many at once, each with its own request: by turns in all apps. */
  crowd(count: number, path = '/', asked: (index: number) => Asked = () => ({})): Promise<Reply>[] {
    return Array.from({ length: count }, (_, index) => {
      const reply = this.ask(path, { app: index % this.ports.length, ...asked(index) })
      // Whoever awaits them all hears of it later.
      reply.catch(() => {})
      return reply
    })
  }

  #port(app: number): number {
    const port = this.ports[app]
    if (port === undefined) throw new Error(`Expected one of ${this.ports.length} apps, got ${app}`)
    return port
  }
}

/** Those that came whole. */
export async function whole(replies: readonly Promise<Reply>[]): Promise<Reply[]> {
  const settled = await Promise.allSettled(replies)
  return settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
}
