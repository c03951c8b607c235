import { randomBytes } from 'node:crypto'
import type { Database } from './client.ts'

/** How long the first who waits waits for the connection that listens, in milliseconds. */
const patience = 250

/** The most messages kept for requests whose answer is still on its way. */
const mostEarly = 256

/**
 * Where this process is told that it is its turn: one channel, on a connection of its own. A message may overtake the
 * answer to the request that took a place in the queue, so as long as one is under way, messages are kept.
 */
export class Inbox {
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

  /** The channel, if it is listened to; `''` if nothing can be told to this process. */
  get name(): string {
    return this.#up ? this.#name : ''
  }

  close(): void {
    this.#up = false
    this.#listening?.end()
    for (const tell of this.#listeners.values()) tell()
  }

  /** Asks for what may have to be waited for. It begins to listen when that is done for the first time. */
  async asking<T>(ask: () => Promise<T>): Promise<T> {
    await (this.#firstTry ??= this.#listen())
    this.#asking++
    try {
      return await ask()
    } finally {
      this.#asking--
      // After the one who asked has had its turn to listen.
      if (this.#early.size > 0) queueMicrotask(() => this.#asking === 0 && this.#early.clear())
    }
  }

  /** Calls `tell` with the next message for this token; returns what stops that. */
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
      const timer = setTimeout(resolve, patience)
      timer.unref()
      const listening = (): void => {
        this.#up = true
        clearTimeout(timer)
        resolve()
        // What was said while nobody listened is lost.
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
