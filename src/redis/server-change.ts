import type { RedisClient } from './client.ts'

/** How often the masters of a cluster are compared with those of before, in milliseconds; nothing is sent for that. */
const lookEvery = 1_000

/**
 * Tells when another server may answer a client than before, or the same one after a restart: the client is connected
 * anew, or a cluster has other masters. What a server had acknowledged lately may be lost then.
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
    this.#client.on?.('ready', this.#tell)
    if (!this.#client.isCluster) return
    this.#masters = this.#mastersNow()
    this.#looking = setInterval(this.#look, lookEvery)
    this.#looking.unref()
  }

  close(): void {
    this.#client.off?.('ready', this.#tell)
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
