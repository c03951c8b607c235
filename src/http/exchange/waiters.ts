import type { Client } from './client.ts'

/** The clients of this process that wait for an answer, by key. */
export class Waiters {
  readonly #clients = new Map<string, Set<Client>>()

  /**
   * Adds a client until it leaves or goes away.
   * @param most the most clients per key
   * @returns a function that removes it; `null` if the limit is reached
   */
  enter(key: string, client: Client, most: number): (() => void) | null {
    const clients = this.#clients.get(key) ?? new Set()
    if (clients.size >= most) return null
    clients.add(client)
    this.#clients.set(key, clients)
    const leave = (): void => {
      stop()
      if (clients.delete(client) && clients.size === 0 && this.#clients.get(key) === clients) this.#clients.delete(key)
    }
    const stop = client.whenGone(leave)
    return leave
  }

  /** Whether a client other than the given one waits. */
  hasOther(key: string, client: Client): boolean {
    const clients = this.#clients.get(key)
    return clients !== undefined && clients.size > (clients.has(client) ? 1 : 0)
  }
}
