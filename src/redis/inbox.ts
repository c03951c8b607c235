import { randomBytes } from 'node:crypto'
import { tokenLength } from '../core/lease/token.ts'
import type { RedisClient, RedisSubscriber } from './client.ts'

/**
 * A message of a script: `v` a value with its header, `r` read it, `f` an error, `p` do not queue, `a` ask again, and to the
 * holder of a lease that it is void; `w` another process waits for a lease of this one; `t` it is your turn to ask for a
 * lock; `d` let copies go, `k` they are gone, `s` the sign that whatever was to go was told.
 */
export interface Message {
  readonly kind: 'v' | 'r' | 'f' | 'p' | 'a' | 'w' | 't' | 'd' | 'k' | 's'
  readonly body: Buffer
}

type Listener = (message: Message) => void

/** Hears messages about copies. */
export interface Hearer {
  received(token: string, message: Message): void
}

/** What happens to an inbox, for the store or the lock that it belongs to. */
export interface InboxOwner {
  /** Hears the messages about copies of values. */
  readonly copies?: Hearer
  /**
   * The subscription is lost, so that others may now believe that this process is dead; or it is back, and a message to a
   * holder may have been lost meanwhile.
   */
  confirmLeases(): void
  /** Nothing can be told to this process any more, or it can again. */
  pushed(up: boolean): void
  /** The subscription is back, perhaps on another server. */
  resubscribed?(): void
  /** Another process waits for a lease that names this inbox. @param lease its name in Redis */
  awaited?(token: string, lease: string): void
}

/** What the channels of all processes begin with. */
export const inboxPrefix = 'herdless:inbox:'

/** The most outcomes kept for claims whose reply is still on its way. */
const mostEarly = 256

/** The longest of them that are kept, in bytes: who comes to listen for a longer one asks again. */
const longestEarly = 65_536

/**
 * How often the subscription is made sure of, in milliseconds: on a connection that is open at our end alone nothing
 * would ever come, and the system takes a quarter of an hour to find out.
 */
const heartbeat = 1_000

const again: Message = { kind: 'a', body: Buffer.alloc(0) }

/** How long the first claim waits for the subscription, in milliseconds; without it, waiters only ask again. */
const patience = 250

/**
 * Where this process is told what came of the loads it waits for: one channel, subscribed once, on a connection of
 * its own. Listeners are found by the token of the load.
 *
 * A message may overtake the reply of the claim that enlisted for it, for they come on two connections. So as long as a
 * claim is under way, messages are kept, and handed to whoever comes to listen.
 */
export class Inbox {
  readonly #client: RedisClient
  readonly #owner: InboxOwner
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #holders = new Map<string, () => void>()
  readonly #early = new Map<string, Message>()
  #asking = 0

  #subscriber: RedisSubscriber | null = null
  #state: 'closed' | 'connecting' | 'up' | 'down' = 'closed'
  #name = ''
  #firstTry: Promise<void> = Promise.resolve()
  #told = true
  #beat: NodeJS.Timeout | undefined

  constructor(client: RedisClient, owner: InboxOwner) {
    this.#client = client
    this.#owner = owner
  }

  /** The channel, if it is subscribed; `''` if nothing can be told to this process. */
  get name(): string {
    return this.#state === 'up' ? this.#name : ''
  }

  open(): void {
    this.#name = `${inboxPrefix}${randomBytes(12).toString('base64url')}`
    this.#state = 'connecting'
    this.#told = true
    const subscriber = (this.#subscriber = this.#client.duplicate())
    leaveSubscribing(subscriber)
    let tried!: () => void
    this.#firstTry = new Promise((resolve) => (tried = resolve))
    const without = (): void => {
      clearTimeout(timer)
      tried()
      if (this.#subscriber === subscriber) this.#pushed(false)
    }
    const timer = setTimeout(without, patience)
    timer.unref()
    const subscribe = async (): Promise<void> => {
      try {
        await subscriber.subscribe(this.#name)
      } catch {
        return without()
      }
      if (this.#subscriber !== subscriber) return
      const missed = this.#state === 'down'
      this.#state = 'up'
      clearTimeout(timer)
      tried()
      this.#pushed(true)
      if (!missed) return
      this.#owner.resubscribed?.()
      this.#wakeAll()
      this.#owner.confirmLeases()
    }
    // What comes once it is closed is answered by nobody: the user may have ended the client.
    subscriber.on('messageBuffer', (_channel, message) => this.#subscriber === subscriber && this.#received(message))
    subscriber.on('ready', () => void subscribe())
    subscriber.on('close', () => {
      if (this.#subscriber === subscriber) this.#lost()
    })
    // The client's own connection has the same trouble, and there it is reported.
    subscriber.on('error', () => undefined)
    if (subscriber.status === 'wait') subscriber.connect().catch(() => undefined)
    if (subscriber.status === 'ready') void subscribe()
    this.#makeSure(subscriber, subscribe)
  }

  close(): void {
    this.#state = 'closed'
    clearInterval(this.#beat)
    this.#subscriber?.disconnect()
    this.#subscriber = null
    this.#wakeAll()
  }

  /** Asks for a claim; until it is answered, messages for tokens as yet unknown are kept. */
  async asking<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#state === 'connecting') await this.#firstTry
    this.#asking++
    try {
      return await ask()
    } finally {
      this.#asking--
      // After the one who asked has had its turn to listen.
      if (this.#early.size > 0) queueMicrotask(() => this.#asking === 0 && this.#early.clear())
    }
  }

  /** Calls `listener` once with the message about a load, perhaps before it returns; returns what stops listening. */
  listen(token: string, listener: Listener): () => void {
    const early = this.#early.get(token)
    if (early !== undefined) {
      // It is said to one, once: who was not fast enough then waits for the next time.
      if (early.kind === 't') this.#early.delete(token)
      listener(early)
      return () => undefined
    }
    const listeners = this.#listeners.get(token) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(token, listeners)
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) this.#listeners.delete(token)
    }
  }

  /** Calls `lose` when the lease that this process holds is voided by another. */
  hold(token: string, lose: () => void): void {
    if (this.#early.get(token)?.kind === 'a') lose()
    else this.#holders.set(token, lose)
  }

  letGo(token: string): void {
    this.#holders.delete(token)
  }

  /** Subscribes again from time to time, which changes nothing, and makes a new connection if that is not answered. */
  #makeSure(subscriber: RedisSubscriber, subscribe: () => Promise<void>): void {
    let answered = true
    let last = performance.now()
    this.#beat = setInterval(() => {
      const now = performance.now()
      // This process itself was stopped or busy: the answer may be there, and not read yet.
      const late = now - last > 1.5 * heartbeat
      last = now
      if (subscriber.status !== 'ready' || late) return
      if (answered) {
        answered = false
        void subscribe().then(() => (answered = true))
      } else {
        answered = true
        this.#lost()
        subscriber.disconnect(true)
      }
    }, heartbeat)
    this.#beat.unref()
  }

  #lost(): void {
    if (this.#state !== 'up') return
    this.#state = 'down'
    this.#pushed(false)
    this.#owner.confirmLeases()
  }

  #pushed(told: boolean): void {
    if (this.#told === told) return
    this.#told = told
    this.#owner.pushed(told)
  }

  #received(bytes: Buffer): void {
    // Anybody on the same Redis could have sent it: what is not of our form is nobody's message.
    const kind = String.fromCharCode(bytes[0] ?? 0) as Message['kind']
    if (!'vrfpawtdks'.includes(kind) || bytes.length < 1 + tokenLength) return
    const token = bytes.toString('latin1', 1, 1 + tokenLength)
    // A copy: the bytes of the connection are a larger buffer, which a message that is kept would keep with it.
    const message = { kind, body: Buffer.from(bytes.subarray(1 + tokenLength)) }
    if ('dks'.includes(kind)) return this.#owner.copies?.received(token, message)
    if (kind === 'w') return this.#owner.awaited?.(token, message.body.toString())
    if (kind === 'a') this.#holders.get(token)?.()
    const listeners = this.#listeners.get(token)
    this.#listeners.delete(token)
    if (listeners !== undefined) for (const listener of listeners) listener(message)
    if (this.#asking === 0 || (kind === 't' && listeners !== undefined)) return
    // Even if somebody listened: another claim for the same load may be on its way.
    this.#early.set(token, message.body.length > longestEarly ? again : message)
    // The oldest goes first: a claim's reply is not that long on its way.
    const [oldest] = this.#early.keys()
    if (this.#early.size > mostEarly && oldest !== undefined) this.#early.delete(oldest)
  }

  /** Whoever waits for a message asks again, at once. */
  #wakeAll(): void {
    const all = [...this.#listeners.values()]
    this.#listeners.clear()
    for (const listeners of all) for (const listener of listeners) listener(again)
  }
}

/**
 * ioredis would subscribe again when it is connected again, as we do; but nobody hears it when that fails, as where the cache is
 * closed at this moment: a rejection that ends the process.
 */
function leaveSubscribing(subscriber: RedisSubscriber): void {
  const { options } = subscriber as { options?: { autoResubscribe?: unknown } }
  if (options?.autoResubscribe === true) options.autoResubscribe = false
}
