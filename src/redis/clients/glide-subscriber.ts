import { timers } from '../../core/time/clock.ts'
import type { RedisSubscriber, SubscriberEvents } from '../connection/port.ts'
import { configOf, connectionOf, type GlideClient } from './glide-client.ts'

/** The class of a client. */
interface GlideClass {
  createClient(config: object): Promise<GlideClient>
}

/** A client of our own, and its connection when it was opened. */
interface Opened {
  readonly client: GlideClient
  connection: string
}

/** The longest pause between two attempts to connect, in milliseconds; each is this much longer than the last one. */
const pause = { most: 2_000, step: 50 }

/** How long the server may take to have the subscription of a new connection, in turns of 10 milliseconds. */
const mostTurns = 100

/**
 * The subscription of one channel, on a client of GLIDE of its own with the settings of the user's. GLIDE replaces a
 * connection that breaks and says nothing, though messages may be lost meanwhile; so the subscriber looks whether it has
 * another one, and counts it as lost then.
 */
export class GlideSubscriber implements RedisSubscriber {
  readonly #channel: string
  readonly #events: SubscriberEvents
  readonly #user: GlideClient
  #opened: Opened | null = null
  #isClosed = false
  /** Counts the attempts to connect: one that a close has overtaken goes no further. */
  #attempt = 0
  #failures = 0
  #pause: NodeJS.Timeout | undefined

  constructor(channel: string, events: SubscriberEvents, user: GlideClient) {
    this.#channel = channel
    this.#events = events
    this.#user = user
    void this.#open()
  }

  get isOpen(): boolean {
    return this.#opened !== null
  }

  async subscribe(): Promise<void> {
    const opened = this.#opened
    if (opened === null) throw new Error('The connection is not open')
    const connection = await connectionOf(opened.client)
    if (connection !== opened.connection) {
      this.#lose(opened)
      throw new Error('The connection was replaced')
    }
    for (let turn = 0; turn < mostTurns; turn++) {
      if (await this.#isSubscribed(opened)) return
      await new Promise<void>((resolve) => void timers.setTimeout(resolve, 10))
    }
    throw new Error('The server has no subscription of this connection')
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
    this.#opened?.client.close()
    this.#opened = null
  }

  async #open(): Promise<void> {
    const attempt = ++this.#attempt
    let client: GlideClient | undefined
    try {
      client = await (this.#user.constructor as unknown as GlideClass).createClient({
        ...configOf(this.#user),
        lazyConnect: false,
        // GLIDE subscribes with RESP3 only (ProtocolVersion.RESP3).
        protocol: 0,
        defaultDecoder: 0,
        pubsubSubscriptions: {
          channelsAndPatterns: { 0: new Set([this.#channel]) },
          callback: ({ message }: { message: Buffer }) => {
            if (attempt === this.#attempt) this.#events.message(message)
          },
        },
      })
      unref(client)
      const opened = { client, connection: await connectionOf(client) }
      if (attempt !== this.#attempt) return client.close()
      this.#opened = opened
    } catch (error) {
      client?.close()
      this.#events.failed(error)
      if (attempt === this.#attempt) this.#openAgain()
      return
    }
    this.#failures = 0
    this.#events.opened()
  }

  async #isSubscribed({ client }: Opened): Promise<boolean> {
    const { actualSubscriptions } = await client.getSubscriptions()
    const channels = Object.values(actualSubscriptions).flatMap((each) => [...(each as Set<unknown>)].map(String))
    return channels.includes(this.#channel)
  }

  #lose(opened: Opened): void {
    if (this.#opened !== opened) return
    this.#opened = null
    opened.client.close()
    this.#events.lost()
    this.#openAgain()
  }

  #openAgain(): void {
    this.#attempt++
    this.#failures++
    this.#pause = timers.setTimeout(() => void this.#open(), Math.min(pause.step * this.#failures, pause.most))
    this.#pause.unref()
  }
}

/** Lets the process end although the client is open. */
function unref(client: GlideClient): void {
  ;(client as { socket?: { unref?(): void } }).socket?.unref?.()
}
