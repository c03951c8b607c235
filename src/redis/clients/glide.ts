import { formatValue } from '../../core/time/duration.ts'
import { timers } from '../../core/time/clock.ts'
import type {
  ClientEvent,
  RedisArgument,
  RedisNode,
  RedisPort,
  RedisSubscriber,
  SubscriberEvents,
} from '../connection/port.ts'
import { bytes, configOf, connectionOf, isClosed, type GlideClient } from './glide-client.ts'
import { GlideSubscriber } from './glide-subscriber.ts'

const methods = ['customCommand', 'invokeScript', 'getSubscriptions', 'getPubSubMessage', 'close'] as const

/** How often a client is asked whether it has another connection, in milliseconds: it reports none. */
const lookEvery = 500

/** Whether a value has the methods of a client of GLIDE, of whichever kind. */
export function isGlide(value: Partial<GlideClient>): value is GlideClient {
  return methods.every((method) => typeof value[method] === 'function')
}

/** `GlideClient` of Valkey GLIDE. */
export class GlidePort implements RedisPort {
  readonly isCluster = false
  readonly keyPrefix = ''
  readonly refusesWhole = true
  readonly connected: undefined = undefined
  readonly #client: GlideClient
  readonly #listeners = { ready: new Set<() => void>(), end: new Set<() => void>() }
  #looking: NodeJS.Timeout | undefined
  #connection: string | null = null
  #hasEnded = false

  /** @throws TypeError for a client of a cluster, and for one that does not read what was written last */
  constructor(client: GlideClient) {
    const { readFrom = 'primary', clientSideCache } = configOf(client)
    if ('invokeScriptWithRoute' in client)
      throw new TypeError(
        'Expected a GlideClient, got a GlideClusterClient, which does not say which masters there are, nor when it has ' +
          'lost a connection: use `Cluster` of ioredis or iovalkey, or `createCluster` of node-redis',
      )
    if (readFrom !== 'primary')
      throw new TypeError(`Expected a GlideClient that reads from the primary (readFrom), got ${formatValue(readFrom)}`)
    // It could answer with what was invalidated.
    if (clientSideCache !== undefined) throw new TypeError('Expected a GlideClient without `clientSideCache`')
    this.#client = client
  }

  get(key: string): Promise<Buffer | null> {
    return this.#send(['get', key]) as Promise<Buffer | null>
  }

  mget(keys: readonly string[]): Promise<readonly (Buffer | null)[]> {
    return this.#send(['mget', ...keys]) as Promise<(Buffer | null)[]>
  }

  evaluate(
    command: 'evalsha' | 'eval',
    script: string,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    return this.#send([command, script, keys.length, ...keys, ...args])
  }

  async call(command: string, key: string | null, args: readonly RedisArgument[]): Promise<unknown> {
    return plain(await this.#send(key === null ? [command, ...args] : [command, key, ...args]))
  }

  nodes(): readonly RedisNode[] {
    return [{ name: '', call: (command, args) => this.call(command, null, args) }]
  }

  subscriber(channel: string, events: SubscriberEvents): RedisSubscriber {
    return new GlideSubscriber(channel, events, this.#client)
  }

  on(event: ClientEvent, listener: () => void): () => void {
    // Each has its own, so that one that was given twice is stopped once.
    const own = (): void => listener()
    this.#listeners[event].add(own)
    this.#look()
    return () => {
      this.#listeners[event].delete(own)
      if (this.#listeners.ready.size + this.#listeners.end.size > 0) return
      timers.clearInterval(this.#looking)
      this.#looking = undefined
    }
  }

  isReply(error: unknown): boolean {
    return (error as Error | null)?.name === 'ReplyError'
  }

  async #send(words: readonly RedisArgument[]): Promise<unknown> {
    try {
      return await this.#client.customCommand(
        words.map((word) => (typeof word === 'number' ? String(word) : word)),
        bytes,
      )
    } catch (error) {
      throw asReply(error)
    }
  }

  /** Looks from now on whether the client has another connection, and whether it was closed. */
  #look(): void {
    if (this.#looking !== undefined) return
    this.#looking = timers.setInterval(() => void this.#lookOnce(), lookEvery)
    this.#looking.unref()
    void this.#lookOnce()
  }

  async #lookOnce(): Promise<void> {
    if (isClosed(this.#client)) {
      if (!this.#hasEnded) for (const tell of this.#listeners.end) tell()
      this.#hasEnded = true
      return
    }
    const connection = await connectionOf(this.#client).catch(() => null)
    const before = this.#connection
    if (connection === null || connection === before) return
    this.#connection = connection
    if (before !== null) for (const tell of this.#listeners.ready) tell()
  }
}

/** The codes of error replies that GLIDE replaces by names of its own. */
const codes: Readonly<Record<string, string>> = {
  ResponseError: 'ERR',
  NoScriptError: 'NOSCRIPT',
  BusyLoadingError: 'LOADING',
  ExecAbortError: 'EXECABORT',
  TryAgain: 'TRYAGAIN',
  ClusterDown: 'CLUSTERDOWN',
  CrossSlot: 'CROSSSLOT',
  MasterDown: 'MASTERDOWN',
  ReadOnly: 'READONLY',
  NotBusy: 'NOTBUSY',
}

/** An error of GLIDE, with the text that the server has sent if it is an error reply. */
function asReply(error: unknown): unknown {
  const { name, message } = error as Error
  if (name !== 'RequestError') return error
  const [, named, code, text = ''] =
    /^(?:An error was signalled by the server: - (\w+)|([A-Z][A-Z0-9]*)): ([^]*)$/.exec(message) ?? []
  const said = named === undefined ? code : codes[named]
  if (said === undefined) return error
  const reply = new Error(`${said} ${text}`, { cause: error })
  reply.name = 'ReplyError'
  return reply
}

/** A reply as other clients give it: GLIDE makes booleans, sets, and pairs of a key and a value of some. */
function plain(reply: unknown): unknown {
  if (typeof reply === 'boolean') return Number(reply)
  if (reply instanceof Set) return [...reply]
  if (!Array.isArray(reply)) return reply
  return reply.flatMap((each: unknown) => (isPair(each) ? [each.key, each.value] : [plain(each)]))
}

function isPair(value: unknown): value is { key: unknown; value: unknown } {
  return typeof value === 'object' && value !== null && 'key' in value && 'value' in value
}
