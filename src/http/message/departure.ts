import { timers } from '../../core/time/clock.ts'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { Overrides } from './overrides.ts'

/** The events by which a connection, or a stream of HTTP/2, tells that its client has gone away. */
const ofConnection: ReadonlySet<unknown> = new Set(['end', 'error', 'close'])
const ofStream: ReadonlySet<unknown> = new Set(['aborted', 'error', 'close'])

/** The properties of a connection or a stream whose client is present. */
export const present: Readonly<Record<string, unknown>> = {
  aborted: false,
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

/** A connection or a stream whose departure events were withheld at least once. */
class Carrier {
  readonly #emit: (args: readonly unknown[]) => unknown
  /** Called on departure, in place of all listeners. */
  readonly #holders = new Set<() => void>()
  readonly #withheld: (readonly unknown[])[] = []

  constructor(carrier: Duplex) {
    const departing = carrier instanceof Socket ? ofConnection : ofStream
    // The replacement is never removed: a deleted property makes the object slow.
    this.#emit = new Overrides(carrier).method('emit', (...args) => {
      if (this.#holders.size === 0 || !departing.has((args as unknown[])[0])) return this.#emit(args)
      this.#withheld.push(args)
      for (const onGone of this.#holders) onGone()
      return true
    })
  }

  /** Whether the client has gone away and nobody is told yet. */
  get isGone(): boolean {
    return this.#holders.size > 0 && this.#withheld.length > 0
  }

  hold(onGone: () => void): void {
    this.#holders.add(onGone)
    if (this.isGone) timers.nextTick(onGone)
  }

  release(onGone: () => void): void {
    this.#holders.delete(onGone)
    if (this.#withheld.length === 0) return
    // Another answer on the same connection may still withhold the events. The tick gives an answer that ends now the
    // time to finish before any listener hears of the departure.
    timers.nextTick(() => {
      while (this.#holders.size === 0 && this.#withheld.length > 0) this.#emit(this.#withheld.shift() ?? [])
    })
  }
}

const carriers = new WeakMap<object, Carrier>()

/**
 * Withholds the departure of a client from all listeners, node:http included, until `release`; then every listener is
 * told. A client of HTTP/2 ends its stream and not the connection, so there the stream is held.
 * @param carrier the connection, or the stream
 * @param onGone called when the client has gone away
 */
export class Departure {
  readonly #carrier: Duplex | null
  readonly #onGone: () => void
  #isHeld: boolean

  constructor(carrier: unknown, onGone: () => void) {
    // An injected request has no connection.
    this.#carrier = carrier instanceof Duplex && !carrier.destroyed ? carrier : null
    this.#isHeld = this.#carrier !== null
    this.#onGone = () => void (this.#isHeld && onGone())
    if (this.#carrier === null) return
    const held = carriers.get(this.#carrier) ?? new Carrier(this.#carrier)
    carriers.set(this.#carrier, held)
    held.hold(this.#onGone)
  }

  /** Destroys the connection. */
  cutOff(): void {
    this.#carrier?.destroy()
  }

  release(): void {
    if (!this.#isHeld || this.#carrier === null) return
    this.#isHeld = false
    carriers.get(this.#carrier)?.release(this.#onGone)
  }
}

/**
 * The value that a property of a connection or a stream shows while the departure of its client is withheld;
 * `undefined` if the property is to be read as it is.
 */
export function withheld(carrier: object, name: string): { readonly value: unknown } | undefined {
  if (carriers.get(carrier)?.isGone !== true || !Object.hasOwn(present, name)) return undefined
  return { value: present[name] }
}
