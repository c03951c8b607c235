import type { ZooKeeperClient } from './client.ts'

/** A session with ZooKeeper: its nodes are deleted when it ends, and its client is useless from then on. */
export class Session {
  readonly #make: (() => ZooKeeperClient) | null
  readonly #expired: () => void
  #client: ZooKeeperClient | null = null
  #connected: Promise<ZooKeeperClient> | null = null
  #closed = false
  #stop = (): void => undefined

  /** @param expired called when the session has ended with all its nodes */
  constructor(client: ZooKeeperClient | (() => ZooKeeperClient), expired: () => void) {
    this.#make = typeof client === 'function' ? client : null
    this.#expired = expired
    if (typeof client !== 'function') this.#use(client)
  }

  /** The client once it is connected; rejects if it never will be. */
  async client(): Promise<ZooKeeperClient> {
    if (this.#closed) {
      // The user's client is still open, so that late grants can be released.
      if (this.#client !== null && isConnected(this.#client)) return this.#client
      throw new Error('The lock is closed')
    }
    if (this.#client === null) {
      if (this.#make === null) throw new Error('The session has expired; give a function that makes a client, to go on')
      const made = this.#make()
      this.#use(made)
      made.connect()
    }
    return await (this.#connected as Promise<ZooKeeperClient>)
  }

  /** How long the server keeps a silent session, in milliseconds. */
  get timeout(): number {
    return this.#client?.getSessionTimeout() ?? Number.POSITIVE_INFINITY
  }

  close(): void {
    this.#closed = true
    this.#stop()
    if (this.#make === null || this.#client === null) return
    end(this.#client)
    this.#client = null
  }

  #use(client: ZooKeeperClient): void {
    this.#client = client
    let up!: (client: ZooKeeperClient) => void
    let isUp = isConnected(client)
    this.#connected = isUp ? Promise.resolve(client) : new Promise((resolve) => (up = resolve))
    const connected = (): void => {
      if (!isUp) up(client)
      isUp = true
    }
    const disconnected = (): void => {
      if (isUp) this.#connected = new Promise((resolve) => (up = resolve))
      isUp = false
    }
    const expired = (): void => {
      this.#stop()
      this.#client = null
      this.#expired()
    }
    client.on('connected', connected)
    client.on('disconnected', disconnected)
    client.on('expired', expired)
    this.#stop = () => {
      client.removeListener('connected', connected)
      client.removeListener('disconnected', disconnected)
      client.removeListener('expired', expired)
    }
  }
}

function isConnected(client: ZooKeeperClient): boolean {
  return client.getState().name === 'SYNC_CONNECTED'
}

/** Ends a client of the lock's own, in any state. */
function end(client: ZooKeeperClient): void {
  if (isConnected(client)) return client.close()
  // A client that is closed while it connects would misread the server's next reply, and one that is not closed would
  // reconnect for ever. So it stops trying, and is closed if it connects all the same.
  client.on('connected', () => client.close())
  const { connectionManager } = client as { connectionManager?: { connect?: () => void; socket?: { destroy(): void } } }
  if (connectionManager === undefined) return
  connectionManager.connect = () => undefined
  connectionManager.socket?.destroy()
}
