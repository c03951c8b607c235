import type { RedisClient } from './client.ts'

/** Most keys in one MGET: beyond it the reply to the first waits for the last, and nothing is gained. */
const mostKeys = 16

interface Read<T> {
  readonly key: string
  readonly resolve: (found: T | null) => void
  readonly reject: (error: unknown) => void
}

/**
 * Plain reads; those of one tick go out as one MGET, which is several times the speed of as many GETs.
 * In a cluster the keys live on many nodes: there each is read on its own.
 */
export class Reader<T> {
  readonly #client: RedisClient
  readonly #parse: (bytes: Buffer) => T | null
  #thisTick: Read<T>[] = []

  /** @param parse makes of the bytes what readers get */
  constructor(client: RedisClient, parse: (bytes: Buffer) => T | null) {
    this.#client = client
    this.#parse = parse
  }

  /** What stands at a key; `null` if nothing does, or something of a foreign type. */
  read(key: string): Promise<T | null> {
    return new Promise((resolve, reject) => {
      if (this.#thisTick.length === 0) void Promise.resolve().then(this.#send)
      this.#thisTick.push({ key, resolve, reject })
    })
  }

  readonly #send = (): void => {
    const reads = this.#thisTick
    this.#thisTick = []
    const most = this.#client.isCluster ? 1 : mostKeys
    for (let start = 0; start < reads.length; start += most) {
      if (start === reads.length - 1 || most === 1) this.#get(reads[start] as Read<T>)
      else this.#mget(reads.slice(start, start + most))
    }
  }

  #get({ key, resolve, reject }: Read<T>): void {
    this.#client.getBuffer(key).then(
      (bytes) => resolve(this.#parsed(bytes)),
      (error: unknown) => {
        // MGET has nothing to say of foreign types either.
        if (error instanceof Error && error.message.startsWith('WRONGTYPE')) resolve(null)
        else reject(error)
      },
    )
  }

  #mget(reads: readonly Read<T>[]): void {
    this.#client.mgetBuffer(reads.map(({ key }) => key)).then(
      (found) => {
        for (const [index, { resolve }] of reads.entries()) resolve(this.#parsed(found[index]))
      },
      (error: unknown) => {
        for (const { reject } of reads) reject(error)
      },
    )
  }

  #parsed(bytes: Buffer | null | undefined): T | null {
    return bytes == null ? null : this.#parse(bytes)
  }
}
