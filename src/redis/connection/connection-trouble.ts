import type { Diagnosis } from '../../core/errors.ts'
import type { RedisPort } from './port.ts'
import { listen } from './listeners.ts'
import { reasonOf } from './unavailable-reason.ts'

const troubles = new WeakMap<RedisPort, ConnectionTrouble>()

/**
 * The last error of the connections of a client, until one of them is open again. A client tells its commands at best
 * that there is no connection, and lets them wait while it connects again; the reason is in its events alone.
 */
export class ConnectionTrouble {
  readonly #client: RedisPort
  #users = 0
  #stop = (): void => undefined
  #last: unknown
  #connections = 0

  private constructor(client: RedisPort) {
    this.#client = client
  }

  /** The trouble of a client: one for all stores and locks on it, because Node.js warns of more than ten listeners. */
  static of(client: RedisPort): ConnectionTrouble {
    const present = troubles.get(client) ?? new ConnectionTrouble(client)
    troubles.set(client, present)
    return present
  }

  open(): void {
    if (this.#users++ > 0) return
    this.#last = undefined
    const stopErrors = this.#client.onError?.(this.note)
    const stopReady = listen(this.#client, 'ready', () => {
      this.#connections++
      this.over()
    })
    this.#stop = () => {
      stopErrors?.()
      stopReady()
    }
  }

  close(): void {
    if (--this.#users > 0) return
    this.#stop()
  }

  readonly note = (error: unknown): void => {
    this.#last = error
  }

  /** A connection is open. */
  readonly over = (): void => {
    this.#last = undefined
  }

  /**
   * Sends a command that finds something to do only once.
   * @returns whether it has found it
   * @throws if it has not, but the client has connected meanwhile: the client sends again what was not answered, so the
   *   first time may have found it
   */
  async sendOnce(send: () => Promise<boolean>): Promise<boolean> {
    const before = this.#connections
    const found = await send()
    if (found || this.#connections === before) return found
    throw new Error('The connection was lost, and the command was sent again')
  }

  /** As `Store.diagnose`. */
  diagnose(rejection?: unknown): Diagnosis | null {
    const reason = rejection === undefined ? 'closed' : reasonOf(rejection)
    // A broken connection is the consequence of an error that the client has reported before.
    if (reason === 'closed' && this.#last !== undefined) return { reason: reasonOf(this.#last), cause: this.#last }
    return rejection === undefined ? null : { reason, cause: rejection }
  }
}
