import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'

/** A server that listens, and is closed when its test is over. */
export class Listening {
  readonly server: Server

  private constructor(server: Server) {
    this.server = server
  }

  static async on(server: Server): Promise<Listening> {
    if (!server.listening) {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    }
    return new Listening(server)
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** A connection to it. */
  async connect(): Promise<Socket> {
    const socket = connect(this.port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }

  /** Sends this, and resolves with all that came until the server closed the connection, but for the date. */
  async exchange(text: string): Promise<string> {
    const socket = await this.connect()
    const all = received(socket)
    socket.write(text, 'latin1')
    return (await all).replaceAll(/\r\nDate: [^\r]*/g, '\r\nDate: now')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections()
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve))
  }
}

/** All that a socket receives until it is closed; a byte a character. */
export async function received(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

/**
 * A request as it goes over the wire, after which the server is to close the connection.
 * @param start its first line without the version, and then its other headers: `GET / HTTP/1.1`
 */
export function request(start: string, headers: Record<string, string> = {}, body = ''): string {
  const length = body === '' ? {} : { 'Content-Length': String(body.length) }
  const all = { Host: 'shop.example', Connection: 'close', ...length, ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${start} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
