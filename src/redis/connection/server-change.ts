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
