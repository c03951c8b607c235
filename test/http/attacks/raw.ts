/**
 * A client of HTTP/1.1 that sends the bytes it is given, right or wrong, and is strict about those that it gets: how an
 * answer is framed is what its tests are about, so whatever a lenient client would let pass is an error here.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** The first lines of an answer. */
export interface Head {
  readonly status: number
  readonly reason: string
  /** Names and values as they came, repeated ones too. */
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** A whole answer. */
export interface Answer extends Head {
  /** The heads with a status of 1xx that came before. */
  readonly interim: readonly Head[]
  readonly body: Buffer
  /** What came behind the last chunk. */
  readonly trailers: Head['headers']
}

/** How long to wait for the next bytes, in milliseconds. */
const patience = 60_000

/** Opens a connection to a server on the loopback interface. */
export async function openRaw({ port }: { readonly port: number }): Promise<Raw> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return new Raw(socket)
}

/** A request: its first line, its other lines, an empty one, its body; nothing is added, a `Host` neither. */
export function message(lines: readonly string[], body: string | Uint8Array = ''): Buffer {
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)])
}

/** The values of a header, in their order. */
export function valuesOf({ headers }: Pick<Head, 'headers'>, name: string): string[] {
  return headers.filter(([each]) => each.toLowerCase() === name.toLowerCase()).map(([, value]) => value)
}

/** One connection. Answers are read in the order of the requests. */
export class Raw implements AsyncDisposable {
  readonly #socket: Socket
  #unread: Buffer = Buffer.alloc(0)
  #ended = false
  #error: Error | undefined
  #arrived: () => void = () => {}
  /** What is left of the body that is being read. */
  #framing: Framing = { kind: 'none' }
  #trailers: Head['headers'] = []

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes) => {
      this.#unread = Buffer.concat([this.#unread, bytes])
      this.#arrived()
    })
    socket.on('end', () => this.#finish())
    socket.on('close', () => this.#finish())
    socket.on('error', (error) => {
      this.#error = error
      this.#finish()
    })
  }

  /** What has arrived and is of no answer that was read. */
  get unread(): Buffer {
    return this.#unread
  }

  /** Sends bytes as they are, text as latin1; a request may come in any number of pieces. */
  send(bytes: string | Uint8Array): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  }

  /** Sends a request and reads its answer. */
  async ask(lines: readonly string[], body?: string | Uint8Array): Promise<Answer> {
    this.send(message(lines, body))
    return await this.answer(lines[0]?.split(' ')[0])
  }

  /**
   * Reads the next answer, whole.
   * @param method of its request: the answer to a HEAD has no body
   * @throws {Error} if it is not framed as it should be, is cut off, or does not come
   */
  async answer(method?: string): Promise<Answer> {
    const interim: Head[] = []
    for (;;) {
      const head = await this.head(method)
      if (head.status < 200 && head.status !== 101) interim.push(head)
      else return { ...head, interim, body: await this.rest(), trailers: this.#trailers }
    }
  }

  /** Reads the next head alone, of an interim answer too; its body is read with `piece` or `rest`. */
  async head(method?: string): Promise<Head> {
    if (this.#framing.kind !== 'none') throw new Error('Expected the body to be read before the next answer')
    const head = headFrom(await this.#line(), await this.#headers())
    this.#trailers = []
    this.#framing = framingOf(head, method)
    return head
  }

  /** Reads what there is of the body, waiting for the first of it; null at its end. */
  async piece(): Promise<Buffer | null> {
    const framing = this.#framing
    switch (framing.kind) {
      case 'none':
        return null
      case 'close':
        return (await this.#some(Infinity)) ?? this.#endBody()
      case 'length':
        return await this.#counted(framing)
      case 'chunked': {
        if (framing.left === 0) framing.left = sizeOf(await this.#line())
        if (framing.left > 0) {
          const bytes = await this.#counted(framing)
          if (framing.left === 0 && (await this.#line()) !== '') throw new Error('Expected a chunk to end with CRLF')
          return bytes
        }
        this.#trailers = await this.#headers()
        return this.#endBody()
      }
    }
  }

  /** Reads the body to its end. */
  async rest(): Promise<Buffer> {
    const pieces: Buffer[] = []
    for (;;) {
      const piece = await this.piece()
      if (piece === null) return Buffer.concat(pieces)
      pieces.push(piece)
    }
  }

  /** Resolves when the server has ended the connection; what came before that is in `unread`. */
  async ended(): Promise<void> {
    while (!this.#ended) await this.#more('the end of the connection')
  }

  /** Goes away, as when a client crashes in the middle of something: nothing more is read or answered. */
  drop(): void {
    this.#socket.resetAndDestroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#socket.closed) return
    const closed = once(this.#socket, 'close')
    this.#socket.destroy()
    await closed
  }

  #finish(): void {
    this.#ended = true
    this.#arrived()
  }

  #endBody(): null {
    this.#framing = { kind: 'none' }
    return null
  }

  async #counted(framing: { left: number }): Promise<Buffer | null> {
    if (framing.left === 0) return this.#endBody()
    const bytes = await this.#some(framing.left)
    if (bytes === null) throw this.#cutOff(`${framing.left} more bytes of a body`)
    framing.left -= bytes.length
    return bytes
  }

  /** What there is, at most so many bytes and at least one; null at the end of the connection. */
  async #some(most: number): Promise<Buffer | null> {
    while (this.#unread.length === 0) {
      if (this.#ended) return null
      await this.#more('a body')
    }
    const bytes = this.#unread.subarray(0, most)
    this.#unread = this.#unread.subarray(bytes.length)
    return bytes
  }

  /** Up to the next CRLF. */
  async #line(): Promise<string> {
    for (;;) {
      const end = this.#unread.indexOf('\n')
      if (end >= 0) {
        const line = this.#unread.toString('latin1', 0, end + 1)
        this.#unread = this.#unread.subarray(end + 1)
        if (!line.endsWith('\r\n')) throw new Error(`Expected a line to end with CRLF, got ${JSON.stringify(line)}`)
        return line.slice(0, -2)
      }
      if (this.#ended) throw this.#cutOff('a line')
      await this.#more('a line')
    }
  }

  async #headers(): Promise<Head['headers']> {
    const headers: [string, string][] = []
    for (;;) {
      const line = await this.#line()
      if (line === '') return headers
      const [, name, value] = /^([!#$%&'*+\-.^_`|~\w]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? []
      if (name === undefined || value === undefined) {
        throw new Error(`Expected a header, got ${JSON.stringify(line)}`)
      }
      headers.push([name, value])
    }
  }

  async #more(what: string): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`Waited ${patience} ms for ${what}${this.#got()}`)), patience)
    })
    try {
      await Promise.race([new Promise<void>((resolve) => (this.#arrived = resolve)), late])
    } finally {
      clearTimeout(timer)
    }
  }

  #cutOff(what: string): Error {
    const cause = this.#error === undefined ? {} : { cause: this.#error }
    return new Error(`The connection ended, expected ${what}${this.#got()}`, cause)
  }

  #got(): string {
    if (this.#unread.length === 0) return ', got nothing'
    return `, got ${JSON.stringify(this.#unread.toString('latin1', 0, 200))}`
  }
}

/** How the end of a body is known. RFC 9112 §6.3 */
type Framing =
  | { readonly kind: 'none' | 'close' }
  /** How many bytes are left, of the body or of its chunk. */
  | { readonly kind: 'length' | 'chunked'; left: number }

function headFrom(line: string, headers: Head['headers']): Head {
  const [, status, reason] = /^HTTP\/1\.1 ([1-9]\d\d) (.*)$/.exec(line) ?? []
  if (status === undefined || reason === undefined) {
    throw new Error(`Expected a status line, got ${JSON.stringify(line)}`)
  }
  return { status: Number(status), reason, headers }
}

function framingOf(head: Head, method: string | undefined): Framing {
  const codings = valuesOf(head, 'Transfer-Encoding')
  const lengths = valuesOf(head, 'Content-Length')
  if (codings.length > 0 && lengths.length > 0) {
    throw new Error(`Expected one framing, got Transfer-Encoding ${codings} and Content-Length ${lengths}`)
  }
  if (lengths.length > 1 || lengths.some((length) => !/^\d+$/.test(length))) {
    throw new Error(`Expected one Content-Length, got ${lengths.join(' and ')}`)
  }
  if (codings.length > 1 || codings.some((coding) => coding.toLowerCase() !== 'chunked')) {
    throw new Error(`Expected the Transfer-Encoding chunked alone, got ${codings.join(' and ')}`)
  }
  if (method === 'HEAD' || head.status < 200 || head.status === 204 || head.status === 304) return { kind: 'none' }
  if (codings.length > 0) return { kind: 'chunked', left: 0 }
  return lengths[0] === undefined ? { kind: 'close' } : { kind: 'length', left: Number(lengths[0]) }
}

function sizeOf(line: string): number {
  if (!/^[\da-f]{1,8}$/i.test(line)) throw new Error(`Expected the size of a chunk, got ${JSON.stringify(line)}`)
  return Number.parseInt(line, 16)
}
