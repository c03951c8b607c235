import type { ZooKeeperClient } from './client.ts'

/** A session with ZooKeeper: what it has made is deleted when it ends. After that a client is of no use any more. */
export class Session {
  readonly #make: (() => ZooKeeperClient) | null
  readonly #expired: () => void
  #client: ZooKeeperClient | null = null
  #connected: Promise<ZooKeeperClient> | null = null
  #closed = false
  #stop = (): void => undefined

  /** @param expired called when it has ended: what was made in it is gone */
  constructor(client: ZooKeeperClient | (() => ZooKeeperClient), expired: () => void) {
    this.#make = typeof client === 'function' ? client : null
    this.#expired = expired
    if (typeof client !== 'function') this.#use(client)
  }

  /** The client, as soon as it is connected; rejects where it never will be. */
  async client(): Promise<ZooKeeperClient> {
    if (this.#closed) {
      // A client of the user's can still be told to give up what it comes by too late.
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

  /** For how long the server keeps it if it hears nothing, in milliseconds. */
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

/** Ends a client of our own, whatever it is doing. */
function end(client: ZooKeeperClient): void {
  if (isConnected(client)) return client.close()
  // One that is closed while it connects would misread what the server says then, and one that is not closed would try
  // to connect for ever. So it tries no more, and where it has connected all the same, it is closed then.
  client.on('connected', () => client.close())
  const { connectionManager } = client as { connectionManager?: { connect?: () => void; socket?: { destroy(): void } } }
  if (connectionManager === undefined) return
  connectionManager.connect = () => undefined
  connectionManager.socket?.destroy()
}
