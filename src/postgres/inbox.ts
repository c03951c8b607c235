import { timers } from '../core/time/clock.ts'
import { randomBytes } from 'node:crypto'
import type { Database } from './client.ts'

/** How long the first waiter waits for the listening connection, in milliseconds. */
const timeout = 250

/** The most messages that are kept for requests under way. */
const mostEarly = 256

/**
 * The inbox of this process: one channel, on a connection of its own, for the message that it is a waiter's turn. A
 * message may overtake the reply to the request that enlisted the waiter. So while a request is under way, messages
 * are kept.
 */
export class NotificationInbox {
  readonly #database: Database
  readonly #listeners = new Map<string, () => void>()
  readonly #early = new Set<string>()
  #asking = 0
  #name = ''
  #up = false
  #firstTry: Promise<void> | null = null
  #listening: { end(): void } | null = null

  constructor(database: Database) {
    this.#database = database
  }

  /** The channel while it is listened to; `''` otherwise. */
  get name(): string {
    return this.#up ? this.#name : ''
  }

  close(): void {
    this.#up = false
    this.#listening?.end()
    for (const tell of this.#listeners.values()) tell()
  }

  /** Runs a request that may have to wait. The first one starts to listen. */
  async asking<T>(ask: () => Promise<T>): Promise<T> {
    await (this.#firstTry ??= this.#listen())
    this.#asking++
    try {
      return await ask()
    } finally {
      this.#asking--
      // Later, so that the requester can listen first.
      if (this.#early.size > 0) timers.queueMicrotask(() => this.#asking === 0 && this.#early.clear())
    }
  }

  /** Calls `tell` with the next message for this token; returns a function that stops it. */
  listen(token: string, tell: () => void): () => void {
    if (this.#early.delete(token)) {
      tell()
      return () => undefined
    }
    this.#listeners.set(token, tell)
    return () => {
      if (this.#listeners.get(token) === tell) this.#listeners.delete(token)
    }
  }

  #listen(): Promise<void> {
    this.#name = `herdless_${randomBytes(12).toString('hex')}`
    return new Promise((resolve) => {
      const timer = timers.setTimeout(resolve, timeout)
      timer.unref()
      const listening = (): void => {
        this.#up = true
        timers.clearTimeout(timer)
        resolve()
        // Messages from before are lost, so every waiter requests again.
        for (const tell of this.#listeners.values()) tell()
      }
      const lost = (): void => void (this.#up = false)
      this.#listening = this.#database.listen(this.#name, (token) => this.#hear(token), listening, lost)
    })
  }

  #hear(token: string): void {
    const tell = this.#listeners.get(token)
    if (tell !== undefined) tell()
    else if (this.#asking > 0 && this.#early.size < mostEarly) this.#early.add(token)
  }
}
