import { strict as assert } from 'node:assert'
import { randomBytes } from 'node:crypto'
import type { RedisPort, RedisSubscriber } from '../../redis/connection/port.ts'
import { until } from '../waiting.ts'

/** A client of one test. */
export interface OpenedClient {
  /** The adapter of a client that is connected, or about to connect. */
  readonly port: RedisPort
  /** Closes the client. */
  readonly close: () => Promise<void>
}

/** One test of the contract. */
export interface ClientTest {
  readonly title: string
  /** Whether the client is asked nothing before; by default it is connected. */
  readonly isFresh?: boolean
  readonly run: (scene: ClientScene) => Promise<void>
}

/** A subscriber, and all that it has reported, in order. */
export interface Watched {
  readonly subscriber: RedisSubscriber
  readonly events: ('opened' | 'lost')[]
  readonly messages: Buffer[]
}

/** All bytes that there are, twice. */
export const allBytes: Buffer = Buffer.from(Array.from({ length: 512 }, (_, index) => index % 256))

/** The client and helpers of one test; its keys and channels are unique to the test. */
export class ClientScene {
  readonly port: RedisPort
  readonly #close: () => Promise<void>
  readonly #timeout: number
  readonly #subscribers: RedisSubscriber[] = []
  readonly #name: string = randomBytes(9).toString('base64url')
  #count = 0

  private constructor({ port, close }: OpenedClient, timeout: number) {
    this.port = port
    this.#close = close
    this.#timeout = timeout
  }

  static async open(
    open: () => Promise<OpenedClient>,
    { timeout, isFresh }: { timeout: number; isFresh: boolean },
  ): Promise<ClientScene> {
    const scene = new ClientScene(await open(), timeout)
    if (!isFresh) await scene.port.call('time', null, [])
    return scene
  }

  async close(): Promise<void> {
    for (const subscriber of this.#subscribers) subscriber.close()
    await this.#close()
  }

  /** The keys of one test share a slot. */
  readonly key = (): string => `{contract:${this.#name}}${++this.#count}`

  /** A key in a slot of its own. */
  readonly slot = (): string => `contract:${this.#name}${++this.#count}`

  channel(): string {
    return `herdless:inbox:${this.#name}${++this.#count}`
  }

  watch(channel: string): Watched {
    const events: ('opened' | 'lost')[] = []
    const messages: Buffer[] = []
    const subscriber = this.port.subscriber(channel, {
      opened: () => events.push('opened'),
      lost: () => events.push('lost'),
      failed: () => undefined,
      message: (bytes) => messages.push(bytes),
    })
    this.#subscribers.push(subscriber)
    assert.deepEqual(events, [], 'nothing is reported before the subscriber is returned')
    return { subscriber, events, messages }
  }

  /** A subscriber whose channel is subscribed. */
  async subscribed(channel: string): Promise<Watched> {
    const watched = this.watch(channel)
    await this.until('a connection for the subscription opens', () => watched.events.includes('opened'))
    assert.equal(watched.subscriber.isOpen, true)
    await watched.subscriber.subscribe()
    return watched
  }

  publish(channel: string, message: string | Buffer): Promise<unknown> {
    return this.port.call('publish', null, [channel, message])
  }

  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    await until(what, async () => (await isSo()) || undefined, this.#timeout)
  }

  /** The error with which the server refuses a command. */
  async refusal(answer: Promise<unknown>): Promise<Error> {
    const error: unknown = await answer.then(
      () => assert.fail('the server refuses this'),
      (reason: unknown) => reason,
    )
    assert(error instanceof Error)
    assert.equal(this.port.isReply(error), true, `an error reply is known as one: ${error.message}`)
    return error
  }
}
