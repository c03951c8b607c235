import type { RedisClient } from './client.ts'

/** How often the masters of a cluster are compared with the previous ones, in milliseconds; this sends nothing. */
const lookEvery = 1_000

/**
 * Reports that another server may answer the client, or a restarted one: the client has reconnected, or a cluster has
 * other masters. Recently acknowledged writes may be lost then.
 */
export class ServerChange {
  readonly #client: RedisClient
  readonly #tell: () => void
  #masters = ''
  #looking: NodeJS.Timeout | undefined

  constructor(client: RedisClient, tell: () => void) {
    this.#client = client
    this.#tell = tell
  }

  open(): void {
    listen(this.#client, this.#tell)
    if (!this.#client.isCluster) return
    this.#masters = this.#mastersNow()
    this.#looking = setInterval(this.#look, lookEvery)
    this.#looking.unref()
  }

  close(): void {
    stopListening(this.#client, this.#tell)
    clearInterval(this.#looking)
  }

  readonly #look = (): void => {
    const masters = this.#mastersNow()
    if (masters === this.#masters) return
    this.#masters = masters
    this.#tell()
  }

  #mastersNow(): string {
    const addresses = this.#client.nodes?.('master').map(({ options }) => `${options?.host}:${options?.port}`) ?? []
    return addresses.toSorted().join(' ')
  }
}

/** The stores on a client share one listener of its connections: Node.js warns of more than ten. */
interface Shared {
  readonly tellers: Set<() => void>
  readonly listener: () => void
}

const shared = new WeakMap<RedisClient, Shared>()

function listen(client: RedisClient, tell: () => void): void {
  const present = shared.get(client)
  if (present !== undefined) return void present.tellers.add(tell)
  const tellers = new Set([tell])
  const listener = (): void => tellers.forEach((each) => each())
  shared.set(client, { tellers, listener })
  client.on?.('ready', listener)
}

function stopListening(client: RedisClient, tell: () => void): void {
  const present = shared.get(client)
  if (!present?.tellers.delete(tell) || present.tellers.size > 0) return
  shared.delete(client)
  client.off?.('ready', present.listener)
}
