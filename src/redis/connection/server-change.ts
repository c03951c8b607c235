import { timers } from '../../core/time/clock.ts'
import { listen } from './listeners.ts'
import type { RedisPort } from './port.ts'

/** How often the masters of a cluster are compared with the previous ones, in milliseconds; this sends nothing. */
const lookEvery = 1_000

/**
 * Reports that another server may answer the client, or a restarted one: the client has reconnected, or a cluster has
 * other masters. Recently acknowledged writes may be lost then.
 */
export class ServerChange {
  readonly #client: RedisPort
  readonly #tell: () => void
  #masters = ''
  #stop = (): void => undefined
  #looking: NodeJS.Timeout | undefined

  constructor(client: RedisPort, tell: () => void) {
    this.#client = client
    this.#tell = tell
  }

  open(): void {
    this.#stop = listen(this.#client, 'ready', this.#tell)
    if (!this.#client.isCluster) return
    this.#masters = this.#mastersNow()
    this.#looking = timers.setInterval(this.#look, lookEvery)
    this.#looking.unref()
  }

  close(): void {
    this.#stop()
    timers.clearInterval(this.#looking)
  }

  readonly #look = (): void => {
    const masters = this.#mastersNow()
    if (masters === this.#masters) return
    this.#masters = masters
    this.#tell()
  }

  #mastersNow(): string {
    const names = this.#client.nodes().map(({ name }) => name)
    return names.toSorted().join(' ')
  }
}
