import type { RedisClient } from './client.ts'

/** Most keys in one MGET: beyond it the reply to the first waits for the last, and nothing is gained. */
const mostKeys = 16

interface Read {
  readonly key: string
  readonly resolve: (bytes: Buffer | null) => void
  readonly reject: (error: unknown) => void
}

/**
 * Plain reads; those of one tick go out as one MGET, which is several times the speed of as many GETs.
 * In a cluster the keys live on many nodes: there each is read on its own.
 */
export class Reader {
  readonly #client: RedisClient
  #thisTick: Read[] = []

  constructor(client: RedisClient) {
    this.#client = client
  }

  read(key: string): Promise<Buffer | null> {
    if (this.#client.isCluster) return this.#get(key)
    return new Promise((resolve, reject) => {
      if (this.#thisTick.length === 0) process.nextTick(this.#send)
      this.#thisTick.push({ key, resolve, reject })
    })
  }

  readonly #send = (): void => {
    const reads = this.#thisTick
    this.#thisTick = []
    for (let start = 0; start < reads.length; start += mostKeys) void this.#mget(reads.slice(start, start + mostKeys))
  }

  async #mget(reads: readonly Read[]): Promise<void> {
    const [first] = reads
    if (reads.length === 1 && first !== undefined) return this.#get(first.key).then(first.resolve, first.reject)
    try {
      const found = (await this.#client.callBuffer('mget', reads.map(({ key }) => key))) as (Buffer | null)[]
      for (const [index, { resolve }] of reads.entries()) resolve(found[index] ?? null)
    } catch (error) {
      for (const { reject } of reads) reject(error)
    }
  }

  async #get(key: string): Promise<Buffer | null> {
    try {
      return (await this.#client.callBuffer('get', [key])) as Buffer | null
    } catch (error) {
      // A key of a foreign type holds no value of ours; MGET calls it missing too.
      if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return null
      throw error
    }
  }
}
