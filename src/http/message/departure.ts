import { Socket } from 'node:net'
import { Overrides } from './overrides.ts'

/** What a connection tells when its client has gone. */
const departing: ReadonlySet<unknown> = new Set(['end', 'error', 'close'])

/** How a connection looks whose client is there. */
export const present: Readonly<Record<string, unknown>> = {
  destroyed: false,
  closed: false,
  errored: null,
  readable: true,
  readableAborted: false,
  readableEnded: false,
  readyState: 'open',
  writable: true,
  writableAborted: false,
  writableEnded: false,
  writableFinished: false,
}

/** A connection that has been told at least once that nobody is to hear of its client's departure. */
class Connection {
  readonly #emit: (args: readonly unknown[]) => unknown
  /** Told of the departure, in place of all others. */
  readonly #holders = new Set<() => void>()
  readonly #withheld: (readonly unknown[])[] = []

  constructor(socket: Socket) {
    // It stays: to delete it would be dear.
    this.#emit = new Overrides(socket).method('emit', (...args) => {
      if (this.#holders.size === 0 || !departing.has((args as unknown[])[0])) return this.#emit(args)
      this.#withheld.push(args)
      for (const onGone of this.#holders) onGone()
      return true
    })
  }

  get isGone(): boolean {
    return this.#withheld.length > 0
  }

  hold(onGone: () => void): void {
    this.#holders.add(onGone)
    if (this.isGone) process.nextTick(onGone)
  }

  release(onGone: () => void): void {
    this.#holders.delete(onGone)
    // Others on the same connection may hold it still; whoever answers has done so before anybody hears of it.
    process.nextTick(() => {
      while (this.#holders.size === 0 && this.#withheld.length > 0) this.#emit(this.#withheld.shift() ?? [])
    })
  }
}

const connections = new WeakMap<object, Connection>()

/**
 * Keeps it from everybody that a client has gone, node:http included, until that is released: then all hear of it.
 * @param onGone told when it has
 */
export class Departure {
  readonly #socket: Socket | null
  readonly #onGone: () => void
  #isHeld: boolean

  constructor(socket: unknown, onGone: () => void) {
    // A request that was made up has none, and HTTP/2 has one for many.
    this.#socket = socket instanceof Socket && !socket.destroyed ? socket : null
    this.#isHeld = this.#socket !== null
    this.#onGone = () => void (this.#isHeld && onGone())
    if (this.#socket === null) return
    const connection = connections.get(this.#socket) ?? new Connection(this.#socket)
    connections.set(this.#socket, connection)
    connection.hold(this.#onGone)
  }

  /** Ends the connection. */
  cutOff(): void {
    this.#socket?.destroy()
  }

  release(): void {
    if (!this.#isHeld || this.#socket === null) return
    this.#isHeld = false
    connections.get(this.#socket)?.release(this.#onGone)
  }
}

/** What a property of a connection is while nobody is to hear that its client has gone; `undefined` where that is not so. */
export function withheld(socket: object, name: string): { readonly value: unknown } | undefined {
  if (connections.get(socket)?.isGone !== true || !Object.hasOwn(present, name)) return undefined
  return { value: present[name] }
}
