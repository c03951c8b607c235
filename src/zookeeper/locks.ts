import type { Busy, Hold, LockBackend, TakeResult, TakeRequest } from '../core/contract/lock-backend.ts'
import { ignoreRejection } from '../core/errors.ts'
import { shortName } from '../core/entry/key.ts'
import type { ZooKeeperClient } from './client.ts'
import { Places, type Place } from './places.ts'
import { Session } from './session.ts'

interface Held {
  readonly place: Place
  readonly lose: () => void
}

/**
 * Locks in ZooKeeper: each request takes a place in a queue, which lives as long as the session of this process. The
 * server knows no ttl: the holder's process releases a lease whose time is over (core/lock).
 */
export class ZooKeeperLocks implements LockBackend {
  readonly #session: Session
  readonly #places: Places
  /** The places of requests that have neither won nor given up, by token. */
  readonly #asking = new Map<string, Place>()
  readonly #held = new Map<string, Held>()

  constructor(client: ZooKeeperClient | (() => ZooKeeperClient), root: string) {
    this.#session = new Session(client, () => this.#expired())
    this.#places = new Places(this.#session, root)
  }

  open(): void {}

  async close(): Promise<void> {
    this.#session.close()
  }

  /** How long a session is certain to live on after a confirmed write, in milliseconds. */
  get longest(): number {
    // The write itself does not extend the session: the leader, which expires sessions, asks each server twice a tick
    // for the sessions it has heard. A server that is cut off before that has reported only what came before the write:
    // a ping, at most a third of the timeout earlier, or the last renewal. A tick is at most half of the timeout.
    return this.#session.timeout / 3
  }

  async take({ name, token, ttl, waits }: TakeRequest): Promise<TakeResult> {
    const before = this.#asking.get(token)
    const place = before ?? (await this.#places.enlist(pathOf(name), token))
    this.#asking.set(token, place)
    try {
      // A waiter may have lost its session without notice, if it is connected to a server that has lost the ensemble.
      if (before !== undefined && !(await this.#places.confirm(place))) throw gone()
      return await this.#ask(place, { name, token, ttl, waits })
    } catch (error) {
      // A new request takes a new place at the end.
      this.#asking.delete(token)
      ignoreRejection(this.#places.remove(place))
      throw error
    }
  }

  async #ask(place: Place, { name, token, ttl, waits }: TakeRequest): Promise<TakeResult> {
    for (;;) {
      const found = await this.#places.before(place)
      if (found === 'gone') throw gone()
      const { before, czxid } = found
      if (before === null)
        return {
          state: 'held',
          hold: this.#hold(place, { name, token, ttl: Math.min(ttl, this.longest), fence: czxid }),
        }
      if (waits === 'no') return this.#busy(token, place, new Promise(() => undefined), () => undefined)
      let tell!: () => void
      const freed = new Promise<void>((resolve) => (tell = resolve))
      const leave = await this.#places.watch(before, tell)
      if (leave !== null) return this.#busy(token, place, freed, leave)
    }
  }

  renew(holds: readonly Hold[]): Promise<boolean>[] {
    return holds.map(async ({ token }) => {
      const held = this.#held.get(token)
      return held !== undefined && (await this.#places.confirm(held.place)) && this.#held.get(token) === held
    })
  }

  async release({ token }: Hold): Promise<boolean> {
    const held = this.#forget(token)
    return held === undefined ? false : await this.#places.remove(held.place)
  }

  #hold(place: Place, hold: Omit<Hold, 'lost'>): Hold {
    const { token } = hold
    let lose!: () => void
    const lost = new Promise<void>((resolve) => (lose = resolve))
    this.#asking.delete(token)
    this.#held.set(token, { place, lose })
    return { ...hold, lost }
  }

  #busy(token: string, place: Place, freed: Promise<void>, leave: () => void): Busy {
    const giveUp = async (): Promise<void> => {
      leave()
      this.#asking.delete(token)
      await this.#places.remove(place)
    }
    return { state: 'busy', freed, pushed: true, left: Number.POSITIVE_INFINITY, leave, giveUp }
  }

  #forget(token: string): Held | undefined {
    const held = this.#held.get(token)
    this.#held.delete(token)
    return held
  }

  #expired(): void {
    this.#asking.clear()
    this.#places.forget()
    for (const token of this.#held.keys()) this.#forget(token)?.lose()
  }
}

function gone(): Error {
  return new Error('The place in the queue is gone')
}

/** A name as one part of a path. */
function pathOf(name: string): string {
  return encodeURIComponent(shortName(name)).replaceAll('.', '%2E')
}
