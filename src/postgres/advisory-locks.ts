import { createHash } from 'node:crypto'
import { systemClock } from '../core/time/clock.ts'
import { withDeadline } from '../core/time/deadline.ts'
import {
  busyUntold,
  type Hold,
  type LockBackend,
  type TakeResult,
  type TakeRequest,
} from '../core/contract/lock-backend.ts'
import { ignoreRejection } from '../core/errors.ts'
import type { LockSession } from './client.ts'

/** How long a session may leave a command unanswered before it is given up with all its locks, in milliseconds. */
const silence = 5_000

interface Held {
  readonly hold: Hold
  readonly session: OpenSession
  readonly lose: () => void
}

/** A session that answers each command, or ends. */
interface OpenSession {
  /** Resolves with the first value of the first row. */
  ask(text: string, values?: readonly unknown[]): Promise<unknown>
  end(): void
}

/**
 * Advisory locks of one session on a connection of its own; the server releases them when the session ends. It knows no
 * ttl: the holder's process releases a lease whose time is over (core/lock). A session may acquire the same lock twice,
 * so this class keeps track of the holders in this process.
 */
export class AdvisoryLocks implements LockBackend {
  readonly longest: number = Number.POSITIVE_INFINITY
  readonly #open: (lost: () => void) => Promise<LockSession>
  readonly #held = new Map<string, Held>()
  #session: Promise<OpenSession> | null = null

  /** @param open opens a session, and calls `lost` when the session is lost */
  constructor(open: (lost: () => void) => Promise<LockSession>) {
    this.#open = open
  }

  open(): void {}

  async close(): Promise<void> {
    const session = this.#session
    if (session === null) return
    this.#lost(session)
    // The session may still be opening, for as long as the server takes.
    ignoreRejection(session.then((open) => open.end()))
  }

  async take({ name, token, ttl }: TakeRequest): Promise<TakeResult> {
    const session = await this.#opened()
    const other = this.#held.get(name)
    if (other !== undefined) return other.hold.token === token ? { state: 'held', hold: other.hold } : busyUntold()
    let lose!: () => void
    const lost = new Promise<void>((resolve) => (lose = resolve))
    const hold: Hold = { name, token, ttl, fence: null, lost }
    // Reserved in this process before the server is asked, because the server would grant it to the session a second
    // time.
    const held: Held = { hold, session, lose }
    this.#held.set(name, held)
    try {
      const ours = await session.ask('SELECT pg_try_advisory_lock($1::text::bigint)', [keyOf(name)])
      if (ours === true && this.#has(held)) return { state: 'held', hold }
      this.#forget(held)
      return busyUntold()
    } catch (error) {
      this.#forget(held)
      throw error
    }
  }

  renew(holds: readonly Hold[]): Promise<boolean>[] {
    const ours = holds.map((hold) => this.#heldAs(hold))
    // The server holds the locks as long as the session.
    const asked = new Map<OpenSession, Promise<unknown>>()
    for (const held of ours) {
      if (held !== undefined && !asked.has(held.session)) asked.set(held.session, held.session.ask('SELECT 1'))
    }
    return ours.map(async (held) => {
      if (held === undefined) return false
      await asked.get(held.session)
      return this.#has(held)
    })
  }

  async release(hold: Hold): Promise<boolean> {
    const held = this.#heldAs(hold)
    if (held === undefined) return false
    try {
      return (await held.session.ask('SELECT pg_advisory_unlock($1::text::bigint)', [keyOf(hold.name)])) === true
    } finally {
      // Not before the reply: the server would grant a lock that the session still holds a second time.
      this.#forget(held)
    }
  }

  #heldAs({ name, token }: Hold): Held | undefined {
    const held = this.#held.get(name)
    return held?.hold.token === token ? held : undefined
  }

  #has(held: Held): boolean {
    return this.#held.get(held.hold.name) === held
  }

  #forget(held: Held): void {
    if (this.#has(held)) this.#held.delete(held.hold.name)
  }

  #opened(): Promise<OpenSession> {
    if (this.#session === null) {
      const lost = (): void => this.#lost(opened)
      const opened: Promise<OpenSession> = this.#open(lost).then((session) => asking(session, lost))
      this.#session = opened
      opened.catch(lost)
    }
    return this.#session
  }

  /** Handles the loss of a session and all its locks. */
  #lost(session: Promise<OpenSession>): void {
    if (this.#session !== session) return
    this.#session = null
    for (const held of this.#held.values()) held.lose()
    this.#held.clear()
  }
}

/** A session that ends as soon as it leaves a command unanswered, because its locks are unknown then. */
function asking(session: LockSession, lost: () => void): OpenSession {
  return {
    ask: async (text, values = []) => {
      try {
        const [row] = await withDeadline(() => session.query(text, values), { most: silence, clock: systemClock })
        return row?.[0]
      } catch (error) {
        lost()
        session.end()
        throw error
      }
    },
    end: () => session.end(),
  }
}

/** The number of an advisory lock: 64 bits of a hash, different for different names except by a negligible chance. */
function keyOf(name: string): string {
  return createHash('sha256').update(`herdless:${name}`).digest().readBigInt64BE().toString()
}
