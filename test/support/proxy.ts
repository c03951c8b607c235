/** A faulty network: a TCP proxy that delays, holds back, cuts, and loses what a test tells it to. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** The way of bytes: from the client to the server, or back. */
export type Direction = 'requests' | 'replies'

/** Starts a proxy in front of a server. */
export async function startProxy(target: { readonly port: number; readonly host?: string }): Promise<Proxy> {
  const server = createServer({ noDelay: true, allowHalfOpen: false }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return new Proxy(server, target)
}

/** Everything it does to the network holds for the connections there are and for those to come, until it is undone. */
export class Proxy {
  readonly host = '127.0.0.1'
  readonly port: number
  /** What every byte takes in each direction, in milliseconds, and how much longer it may take at random. */
  latency = 0
  jitter = 0
  readonly #server: Server
  readonly #links: Set<Link> = new Set()
  readonly #gates: Record<Direction, Gate> = { requests: new Gate(), replies: new Gate() }
  readonly #losses: Set<Loss> = new Set()
  readonly #stops: Set<Stop> = new Set()
  readonly #repeats: Set<Repeat> = new Set()
  readonly #connect: () => Socket
  #refusing = false

  constructor(server: Server, target: { readonly port: number; readonly host?: string }) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.#connect = () => connect({ host: target.host ?? '127.0.0.1', port: target.port, noDelay: true })
    server.on('connection', (client) => {
      if (this.#refusing) return void client.destroy()
      const upstream = this.#connect()
      const link: Link = { client, upstream, abandoned: false }
      this.#links.add(link)
      for (const [from, to, direction] of [
        [client, upstream, 'requests'],
        [upstream, client, 'replies'],
      ] as const) {
        this.#carry(link, from, to, direction)
        from.on('error', () => {})
        from.on('close', () => {
          if (link.abandoned && from === upstream) return
          this.#links.delete(link)
          to.destroy()
        })
      }
    })
  }

  /** How many connections there are through it. */
  get connections(): number {
    return this.#links.size
  }

  /** Ends all connections at once, as a router that loses its mind does; new ones are let through. */
  cut(): void {
    for (const { client, upstream } of this.#links) {
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
    this.#links.clear()
  }

  /** Ends all connections and lets no new one through until `accept`. */
  refuse(): void {
    this.#refusing = true
    this.cut()
  }

  accept(): void {
    this.#refusing = false
  }

  /** Holds back what goes in one direction, or in both: connections stay open, and nothing arrives until `heal`. */
  blackHole(direction?: Direction): void {
    for (const [name, gate] of Object.entries(this.#gates))
      if (direction === undefined || direction === name) gate.shut()
  }

  /** Lets through what was held back, in its order, in one direction or in both. */
  heal(direction?: Direction): void {
    for (const [name, gate] of Object.entries(this.#gates))
      if (direction === undefined || direction === name) gate.open()
  }

  /**
   * Becomes a black hole in both directions when a request with this text arrives, which is the first that is held back.
   * @returns when it has happened
   */
  async stopAt(text: string): Promise<void> {
    await new Promise<void>((happened) => this.#stops.add({ text, happened }))
  }

  /** Ends the connections at the server's side alone: the clients do not learn of it, and what they send is lost. */
  abandon(): void {
    for (const link of this.#links) {
      link.abandoned = true
      link.upstream.destroy()
    }
  }

  /**
   * Loses the reply to the next request with this text in it, and ends that connection. The server has run the command.
   * @returns when it has happened
   */
  async loseReplyTo(text: string): Promise<void> {
    await new Promise<void>((happened) => this.#losses.add({ text, link: null, happened }))
  }

  /**
   * Delivers the next request with this text in it twice, as it happens when a client sends again what had arrived after
   * all: the second time on a connection of its own, and with all that came in one piece with it.
   * @returns when the server has answered the second time
   */
  async repeat(text: string): Promise<void> {
    await new Promise<void>((happened) => this.#repeats.add({ text, happened }))
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.refuse()
    this.heal()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #carry(link: Link, from: Socket, to: Socket, direction: Direction): void {
    let last = Promise.resolve()
    from.on('data', (bytes: Buffer) => {
      if (link.abandoned) return
      if (direction === 'requests') this.#stopBefore(bytes)
      const due = performance.now() + this.latency + this.jitter * Math.random()
      last = last.then(async () => {
        const left = due - performance.now()
        if (left > 0) await pause(left)
        await this.#gates[direction].passage
        if (direction === 'requests') this.#expectLoss(link, bytes)
        else if (this.#loses(link)) return
        if (!link.abandoned && to.writable) to.write(bytes)
        if (direction === 'requests') this.#repeat(bytes)
      })
    })
  }

  #stopBefore(request: Buffer): void {
    for (const stop of this.#stops) {
      if (!request.includes(stop.text)) continue
      this.#stops.delete(stop)
      this.blackHole()
      stop.happened()
    }
  }

  #repeat(request: Buffer): void {
    for (const repeat of this.#repeats) {
      if (!request.includes(repeat.text)) continue
      this.#repeats.delete(repeat)
      const again = this.#connect()
      again.on('error', () => {})
      again.once('data', () => again.destroy())
      again.once('close', repeat.happened)
      again.write(request)
    }
  }

  #expectLoss(link: Link, request: Buffer): void {
    for (const loss of this.#losses) if (loss.link === null && request.includes(loss.text)) loss.link = link
  }

  #loses(link: Link): boolean {
    const loss = [...this.#losses].find((candidate) => candidate.link === link)
    if (loss === undefined) return false
    this.#losses.delete(loss)
    link.client.resetAndDestroy()
    link.upstream.resetAndDestroy()
    loss.happened()
    return true
  }
}

interface Link {
  readonly client: Socket
  readonly upstream: Socket
  abandoned: boolean
}

interface Stop {
  readonly text: string
  readonly happened: () => void
}

interface Repeat {
  readonly text: string
  readonly happened: () => void
}

interface Loss {
  readonly text: string
  /** The connection that the request was seen on. */
  link: Link | null
  readonly happened: () => void
}

/** Open at first. */
class Gate {
  passage: Promise<void> = Promise.resolve()
  #open: () => void = () => {}

  shut(): void {
    this.#open()
    this.passage = new Promise((resolve) => (this.#open = resolve))
  }

  open(): void {
    this.#open()
  }
}
