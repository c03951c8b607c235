import { timers } from '../../core/time/clock.ts'
import { randomBytes } from 'node:crypto'
import { tokenLength } from '../../core/lease/token.ts'
import type { RedisPort, RedisSubscriber } from '../connection/port.ts'
import type { ConnectionTrouble } from '../connection/connection-trouble.ts'
import { listen } from '../connection/listeners.ts'
import { keepSubscribed } from './heartbeat.ts'

/**
 * A message of a script. To waiters: `v` a value with its header, `r` read the value, `f` an error, `p` do not queue,
 * `a` ask again. To holders: `a` the lease is void, `w` another process waits for it. To waiters for locks: `t` it is
 * your turn. About near copies: `d` drop, `k` dropped, `s` a sign that all earlier drops were sent. To all: `m` the mode
 * of the fleet may be another one.
 */
export interface Message {
  readonly kind: 'v' | 'r' | 'f' | 'p' | 'a' | 'w' | 't' | 'd' | 'k' | 's' | 'm'
  readonly body: Buffer
}

type Listener = (message: Message) => void

/** Receives messages about copies. */
export interface Hearer {
  received(token: string, message: Message): void
}

/** The store or the lock to which an inbox belongs. */
export interface InboxOwner {
  /** Receives the messages about copies. */
  readonly copies?: Hearer
  /** Is told of the errors of the connection: the client itself reports none if nobody listens to it. */
  readonly trouble: Pick<ConnectionTrouble, 'note' | 'over'>
  /**
   * The subscription is lost, so that other processes may take this one for dead; or it is back, and messages to
   * holders may have been lost meanwhile.
   */
  confirmLeases(): void
  /** Messages reach this process again, or no longer. */
  pushed(up: boolean): void
  /** The subscription is back, perhaps on another server. */
  resubscribed?(): void
  /**
   * Another process waits for a lease of this inbox.
   * @param lease the key of the lease in Redis
   */
  awaited?(token: string, lease: string): void
  /** The mode of the fleet may be another one. */
  modeChanged?(): void
}

/** The common prefix of all channels. */
export const inboxPrefix = 'herdless:inbox:'

/** The most messages that are kept for claims under way. */
const mostEarly = 256

/** The longest message that is kept, in bytes; the waiter for a longer one asks again. */
const longestEarly = 65_536

const again: Message = { kind: 'a', body: Buffer.alloc(0) }

/** How long the first claim waits for the subscription, in milliseconds; without it, waiters poll. */
const timeout = 250

/**
 * The inbox of this process: one channel on a connection of its own, subscribed once. Listeners are found by the token
 * of their load. The race that the kept messages survive, with processes A and B:
 *
 * 1. B holds the lease of a key. A claims it: the script enlists A's inbox, and its reply names B's token.
 * 2. B fills the key, and Redis publishes the outcome to A's inbox.
 * 3. The message overtakes the reply to step 1, because they arrive on two connections. A has no listener for B's
 *    token.
 * 4. A claim is under way, so A keeps the message.
 * 5. The reply arrives. A listens for B's token, and is given the message at once.
 *
 * Without step 4, A would wait until it asks again.
 */
export class Inbox {
  readonly #client: RedisPort
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
  #stopBeat = (): void => undefined
  #leaveClient = (): void => undefined

  constructor(client: RedisPort, owner: InboxOwner) {
    this.#client = client
    this.#owner = owner
  }

  /** The channel, subscribed or not. */
  get channel(): string {
    return this.#name
  }

  /** The channel while it is subscribed; `''` otherwise. */
  get name(): string {
    return this.#state === 'up' ? this.#name : ''
  }

  open(): void {
    this.#name = `${inboxPrefix}${randomBytes(12).toString('base64url')}`
    this.#state = 'connecting'
    this.#told = true
    let tried!: () => void
    this.#firstTry = new Promise((resolve) => (tried = resolve))
    const without = (): void => {
      timers.clearTimeout(timer)
      tried()
      if (this.#subscriber === subscriber) this.#pushed(false)
    }
    const timer = timers.setTimeout(without, timeout)
    timer.unref()
    const subscribe = async (): Promise<boolean> => {
      try {
        await subscriber.subscribe()
      } catch (error) {
        without()
        return this.#client.isReply(error)
      }
      if (this.#subscriber === subscriber) subscribed()
      return true
    }
    const subscribed = (): void => {
      const missed = this.#state === 'down'
      this.#state = 'up'
      timers.clearTimeout(timer)
      tried()
      this.#pushed(true)
      if (!missed) return
      this.#owner.resubscribed?.()
      this.#wakeAll()
      this.#owner.confirmLeases()
    }
    const subscriber = this.#client.subscriber(this.#name, {
      opened: () => {
        this.#owner.trouble.over()
        void subscribe()
      },
      lost: () => {
        if (this.#subscriber === subscriber) this.#lost()
      },
      failed: this.#owner.trouble.note,
      // Messages after the close are ignored: a reply would need the client, which the user may have ended.
      message: (bytes) => {
        if (this.#subscriber === subscriber) this.#received(bytes)
      },
    })
    this.#subscriber = subscriber
    this.#stopBeat = keepSubscribed(subscriber, subscribe, () => this.#lost())
    this.#leaveClient = this.#endWithClient(subscriber)
  }

  close(): void {
    this.#state = 'closed'
    this.#stopBeat()
    this.#leaveClient()
    this.#subscriber?.close()
    this.#subscriber = null
    this.#wakeAll()
  }

  /** Runs a claim. Until it is answered, messages for unknown tokens are kept. */
  asking<T>(ask: () => Promise<T>): Promise<T> {
    return this.#state === 'connecting' ? this.#firstTry.then(() => this.#ask(ask)) : this.#ask(ask)
  }

  #ask<T>(ask: () => Promise<T>): Promise<T> {
    this.#asking++
    const reply = ask()
    reply.then(this.#answered, this.#answered)
    return reply
  }

  readonly #answered = (): void => {
    this.#asking--
    // Later, so that the claimer can listen first.
    if (this.#early.size > 0) timers.queueMicrotask(() => this.#asking === 0 && this.#early.clear())
  }

  /**
   * Calls `listener` once with the message about a load, perhaps before this returns. Returns a function that stops it.
   */
  listen(token: string, listener: Listener): () => void {
    const early = this.#early.get(token)
    if (early !== undefined) {
      // A turn is for one waiter, once. Other waiters of the process wait for the next.
      if (early.kind === 't') this.#early.delete(token)
      listener(early)
      return () => undefined
    }
    const listeners = this.#listeners.get(token) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(token, listeners)
    return () => {
      listeners.delete(listener)
      // After a message, those of the token are others.
      if (listeners.size === 0 && this.#listeners.get(token) === listeners) this.#listeners.delete(token)
    }
  }

  /** Calls `lose` when another process voids the lease. */
  hold(token: string, lose: () => void): void {
    if (this.#early.get(token)?.kind === 'a') lose()
    else this.#holders.set(token, lose)
  }

  letGo(token: string): void {
    this.#holders.delete(token)
  }

  /**
   * Ends the connection with that of the client, so that it does not keep a process alive whose cache was not closed; and
   * connects again when the user does so with the client.
   */
  #endWithClient(subscriber: RedisSubscriber): () => void {
    const leaveEnd = listen(this.#client, 'end', () => {
      subscriber.close()
      this.#lost()
    })
    const leaveReady = listen(this.#client, 'ready', () => subscriber.open())
    return () => {
      leaveEnd()
      leaveReady()
    }
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
    // Any client of the server can publish here: ignore other forms.
    const kind = String.fromCharCode(bytes[0] ?? 0) as Message['kind']
    if (!'vrfpawtdksm'.includes(kind) || bytes.length < 1 + tokenLength) return
    const token = bytes.toString('latin1', 1, 1 + tokenLength)
    // A copy: the message is a slice of the connection's larger buffer, which a kept message would keep alive.
    const message = { kind, body: Buffer.from(bytes.subarray(1 + tokenLength)) }
    if ('dks'.includes(kind)) return this.#owner.copies?.received(token, message)
    if (kind === 'm') return this.#owner.modeChanged?.()
    if (kind === 'w') return this.#owner.awaited?.(token, message.body.toString())
    if (kind === 'a') this.#holders.get(token)?.()
    const listeners = this.#listeners.get(token)
    this.#listeners.delete(token)
    if (listeners !== undefined) for (const listener of listeners) listener(message)
    if (this.#asking === 0 || (kind === 't' && listeners !== undefined)) return
    // Also with a listener, because another claim for the same load may be under way.
    this.#early.set(token, message.body.length > longestEarly ? again : message)
    // The oldest goes first: no reply is delayed that long.
    const [oldest] = this.#early.keys()
    if (this.#early.size > mostEarly && oldest !== undefined) this.#early.delete(oldest)
  }

  /** Makes every waiter ask again at once. */
  #wakeAll(): void {
    const all = [...this.#listeners.values()]
    this.#listeners.clear()
    for (const listeners of all) for (const listener of listeners) listener(again)
  }
}
