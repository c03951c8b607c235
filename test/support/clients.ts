import type { Cluster, Redis, RedisOptions } from 'ioredis'

/**
 * What a test may ask of a client of its own. How replies are mapped is left alone, since it would change their types.
 */
export type ConnectOptions = Omit<RedisOptions, 'replyMapping'>

/** The clients made for one server or group of servers, to be disconnected together before it is stopped. */
export class Clients<Client extends Redis | Cluster> {
  readonly #open: Set<Client> = new Set()

  /** Keeps a client until it ends. Here servers go away on purpose, so its error events are heard and dropped. */
  add(client: Client): Client {
    this.#open.add(client)
    client.on('error', () => {})
    client.once('end', () => this.#open.delete(client))
    return client
  }

  disconnect(): void {
    for (const client of this.#open) client.disconnect()
  }
}
