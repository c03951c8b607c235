import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Happening, SeenLease } from '../support/history.ts'
import type { RedisServer } from '../support/servers.ts'
import { namespace } from './work.ts'

/** How often the leases are read, and how long that may take, in milliseconds: what took longer says nothing. */
const every = 120
const deadline = 100

/**
 * Reads all leases again and again, past all that lies between the processes and their servers. While a server does not
 * answer, nothing is known.
 */
export class Sampler {
  readonly #masters: () => Promise<readonly RedisServer[]>
  readonly #processOf: (pid: number) => number | null
  readonly #now: () => number
  readonly #note: (happening: Happening) => void
  readonly #clients = new Map<RedisServer, Redis>()
  readonly #stopping = new AbortController()
  readonly #stopped: Promise<void>

  constructor(of: {
    masters: () => Promise<readonly RedisServer[]>
    /** The number of a process of the fleet; `null` for any other. */
    processOf: (pid: number) => number | null
    now: () => number
    note: (happening: Happening) => void
  }) {
    this.#masters = of.masters
    this.#processOf = of.processOf
    this.#now = of.now
    this.#note = of.note
    this.#stopped = this.#run()
  }

  /** Ends its connections; it notes nothing more. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#stopped
    for (const client of this.#clients.values()) client.disconnect()
  }

  /** The leases that are held now; `null` where nobody can be asked. */
  async leases(): Promise<SeenLease[] | null> {
    const masters = await this.#masters()
    if (masters.length === 0) return null
    return (await Promise.all(masters.map((each) => this.#leasesOn(each)))).flat()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#sample()
      await pause(every, undefined, { signal }).catch(() => {})
    }
  }

  async #sample(): Promise<void> {
    const at = this.#now()
    const late = new AbortController()
    const read = this.leases().catch(() => null)
    const leases = await Promise.race([read, pause(deadline, null, { signal: late.signal }).catch(() => null)])
    late.abort()
    if (leases !== null && !this.#stopping.signal.aborted) this.#note({ what: 'seen', at, leases })
  }

  /** By commands that the library does not use, so that no scenario takes them away. */
  async #leasesOn(server: RedisServer): Promise<SeenLease[]> {
    const client = this.#clientOf(server)
    const keys = await client.keys(`{${namespace}:*}:lease`)
    if (keys.length === 0) return []
    const reading = client.pipeline()
    for (const key of keys) reading.hgetall(key)
    const hashes = (await reading.exec()) ?? []
    return hashes.flatMap(([, hash], index) => {
      const { state, token = '', version = '', holder = '' } = (hash ?? {}) as Record<string, string>
      if (state !== 'held') return []
      const key = (keys[index] as string).slice(namespace.length + 2, -'}:lease'.length)
      return [{ key, token, fence: version, process: this.#processOf(Number.parseInt(holder)) }]
    })
  }

  #clientOf(server: RedisServer): Redis {
    const known = this.#clients.get(server)
    if (known !== undefined) return known
    const client = server.connect({ enableReadyCheck: false, maxRetriesPerRequest: 0, retryStrategy: () => 50 })
    this.#clients.set(server, client)
    return client
  }
}

/** The tokens of the leases that a server has. */
export async function tokensOf({ client }: RedisServer): Promise<Set<string>> {
  const keys = await client.keys(`{${namespace}:*}:lease`)
  const tokens = await Promise.all(keys.map((key) => client.hget(key, 'token')))
  return new Set(tokens.filter((token) => token !== null))
}
