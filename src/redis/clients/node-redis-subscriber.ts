import type { RedisSubscriber, SubscriberEvents } from '../connection/port.ts'
import { timers } from '../../core/time/clock.ts'
import type { PausableWrites } from './node-redis-writes.ts'

/** The required members of a connection of node-redis to one server. */
export interface NodeRedisConnection extends PausableWrites {
  readonly isOpen: boolean
  readonly isReady: boolean
  readonly options?: { readonly socket?: object | undefined } | undefined
  connect(): Promise<unknown>
  destroy(): void
  /** Lets the process end although the connection is open. */
  unref(): void
  duplicate(overrides: OwnOptions): NodeRedisConnection
  sendCommand(
    args: (string | Buffer)[],
    options?: { readonly typeMapping: { readonly 36: BufferConstructor } },
  ): Promise<unknown>
  subscribe(channel: string, listener: (message: Buffer) => void, bufferMode: true): Promise<unknown>
  on(event: string | symbol, listener: (error?: unknown) => void): unknown
  off(event: string | symbol, listener: (error?: unknown) => void): unknown
}

/** The options in which the duplicate differs from the connection of the user. */
interface OwnOptions extends Protocol {
  readonly socket: { readonly reconnectStrategy: false }
  readonly emitInvalidate: false
  readonly maintNotifications: 'disabled'
}

/** The protocol of a connection, if not that of the user's. */
export interface Protocol {
  readonly RESP?: 2
}

/** A connection that is not open yet, and whether its server is still one whose messages count. */
export interface Opened {
  readonly connection: NodeRedisConnection
  readonly isCurrent: () => boolean
}

/** A connection with the settings of another one, but for the protocol, that gives up when it breaks. */
export function duplicateOf(connection: NodeRedisConnection, protocol: Protocol): NodeRedisConnection {
  const own = {
    ...protocol,
    socket: { ...connection.options?.socket, reconnectStrategy: false as const },
    // It reads nothing.
    clientSideCache: undefined,
    emitInvalidate: false as const,
    maintNotifications: 'disabled' as const,
  }
  return connection.duplicate(own)
}

/** The longest pause between two attempts to connect, in milliseconds; each is this much longer than the last one. */
const pause = { most: 2_000, step: 50 }

/**
 * The subscription of one channel. Each connection that breaks is replaced by a new one, to the server that the
 * client then uses: node-redis itself would try the same server for ever, or give up, and its pauses keep a process
 * alive.
 */
export class NodeRedisSubscriber implements RedisSubscriber {
  readonly #channel: string
  readonly #events: SubscriberEvents
  readonly #connect: () => Promise<Opened>
  readonly #prepare: (connection: NodeRedisConnection) => Promise<void>
  #prepared: Opened | null = null
  /** The connection that is open, or about to open. */
  #opened: Opened | null = null
  #isClosed = false
  /** Counts the attempts to connect: one that a close has overtaken goes no further. */
  #attempt = 0
  #failures = 0
  #pause: NodeJS.Timeout | undefined

  /**
   * @param connect makes a connection that is not open yet; may reject
   * @param prepare what each connection is sent before it subscribes
   */
  constructor(
    channel: string,
    events: SubscriberEvents,
    connect: () => Promise<Opened>,
    prepare: (connection: NodeRedisConnection) => Promise<void> = async () => undefined,
  ) {
    this.#channel = channel
    this.#events = events
    this.#connect = connect
    this.#prepare = prepare
    void this.#open()
  }

  get isOpen(): boolean {
    return this.#opened?.connection.isReady ?? false
  }

  async subscribe(): Promise<void> {
    const opened = this.#opened
    if (opened === null) throw new Error('The connection is not open')
    if (!opened.isCurrent()) {
      this.#lose(opened)
      throw new Error('Another server has taken the place of the server of this connection')
    }
    if (this.#prepared !== opened) await this.#prepare(opened.connection)
    this.#prepared = opened
    // The first sends nothing if the channel is subscribed.
    await Promise.all([
      opened.connection.subscribe(this.#channel, this.#events.message, true),
      opened.connection.sendCommand(['ping']),
    ])
  }

  reconnect(): void {
    if (this.#opened !== null) this.#lose(this.#opened)
  }

  open(): void {
    if (!this.#isClosed) return
    this.#isClosed = false
    void this.#open()
  }

  close(): void {
    this.#isClosed = true
    this.#attempt++
    timers.clearTimeout(this.#pause)
    if (this.#opened !== null) end(this.#opened)
    this.#opened = null
  }

  async #open(): Promise<void> {
    const attempt = ++this.#attempt
    let opened: Opened | undefined
    try {
      const next = (opened = await this.#connect())
      if (attempt !== this.#attempt) return
      this.#opened = next
      next.connection.on('error', (error) => {
        this.#events.failed(error)
        this.#lose(next)
      })
      next.connection.unref()
      await next.connection.connect()
    } catch (error) {
      this.#events.failed(error)
      if (opened !== undefined) this.#lose(opened)
      else if (attempt === this.#attempt) this.#openAgain()
      return
    }
    if (this.#opened !== opened) return
    this.#failures = 0
    this.#events.opened()
  }

  #lose(opened: Opened): void {
    if (this.#opened !== opened) return
    this.#opened = null
    end(opened)
    this.#events.lost()
    this.#openAgain()
  }

  #openAgain(): void {
    this.#failures++
    this.#pause = timers.setTimeout(() => void this.#open(), Math.min(pause.step * this.#failures, pause.most))
    this.#pause.unref()
  }
}

function end({ connection }: Opened): void {
  try {
    connection.destroy()
  } catch {
    // node-redis 5 refuses to end what has ended.
  }
}
