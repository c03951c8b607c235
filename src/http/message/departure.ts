import { timers } from '../../core/time/clock.ts'
import { Socket } from 'node:net'
import { Overrides } from './overrides.ts'

/** Events of a connection whose client has gone away. */
const departing: ReadonlySet<unknown> = new Set(['end', 'error', 'close'])

/** The properties of a connection whose client is present. */
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

/** A connection whose departure events were withheld at least once. */
class Connection {
  readonly #emit: (args: readonly unknown[]) => unknown
  /** Called on departure, in place of all listeners of the connection. */
  readonly #holders = new Set<() => void>()
  readonly #withheld: (readonly unknown[])[] = []

  constructor(socket: Socket) {
    // The replacement is never removed: a deleted property makes the object slow.
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
    if (this.isGone) timers.nextTick(onGone)
  }

  release(onGone: () => void): void {
    this.#holders.delete(onGone)
    if (!this.isGone) return
    // Another answer on the same connection may still withhold the events. The tick gives an answer that ends now the
    // time to finish before any listener hears of the departure.
    timers.nextTick(() => {
      while (this.#holders.size === 0 && this.#withheld.length > 0) this.#emit(this.#withheld.shift() ?? [])
    })
  }
}

const connections = new WeakMap<object, Connection>()

/**
 * Withholds the departure of a client from all listeners, node:http included, until `release`; then every listener is
 * told.
 * @param onGone called when the client has gone away
 */
export class Departure {
  readonly #socket: Socket | null
  readonly #onGone: () => void
  #isHeld: boolean

  constructor(socket: unknown, onGone: () => void) {
    // An injected request has no socket, and an HTTP/2 connection serves many requests.
    this.#socket = socket instanceof Socket && !socket.destroyed ? socket : null
    this.#isHeld = this.#socket !== null
    this.#onGone = () => void (this.#isHeld && onGone())
    if (this.#socket === null) return
    const connection = connections.get(this.#socket) ?? new Connection(this.#socket)
    connections.set(this.#socket, connection)
    connection.hold(this.#onGone)
  }

  /** Destroys the connection. */
  cutOff(): void {
    this.#socket?.destroy()
  }

  release(): void {
    if (!this.#isHeld || this.#socket === null) return
    this.#isHeld = false
    connections.get(this.#socket)?.release(this.#onGone)
  }
}

/**
 * The value that a property of a connection shows while the departure of its client is withheld; `undefined` if the
 * property is to be read as it is.
 */
export function withheld(socket: object, name: string): { readonly value: unknown } | undefined {
  if (connections.get(socket)?.isGone !== true || !Object.hasOwn(present, name)) return undefined
  return { value: present[name] }
}
