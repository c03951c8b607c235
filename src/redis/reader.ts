import type { RedisClient } from './client.ts'

/** Most keys in one MGET: a server does nothing else meanwhile, and the first waits for the reply to the last. */
const most = 128

/** Commands under way under load: while the server works on one, another is on its way, and one is written or read here. */
const enough = 6

/** Up to so many reads under way may all be of one caller: a value and its tags. */
const few = 4

interface Read {
  readonly key: string
  readonly found: (bytes: Buffer | null) => void
  readonly reject: (error: unknown) => void
}

/**
 * Plain reads; those of one tick go out as one MGET, which is several times the speed of as many GETs. Those who ask
 * again as soon as they have been answered would so all wait for one reply, and the server for all of them: their reads
 * are divided among as many commands as keep both busy.
 * In a cluster the keys live on many nodes: there each is read on its own.
 */
export class Reader {
  readonly #client: RedisClient
  #thisTick: Read[] = []
  /** Reads that have been sent and not been answered. */
  #underWay = 0
  /** Whether some were answered in this turn of the event loop. */
  #answering = false

  constructor(client: RedisClient) {
    this.#client = client
  }

  /**
   * What stands at a key.
   * @param parse makes of the bytes what is wanted; `null` if nothing stands there, or something of a foreign type
   */
  read<T>(key: string, parse: (bytes: Buffer | null) => T | PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#thisTick.length === 0) void Promise.resolve().then(this.#send)
      // Settled from within: a promise in between would cost each hit.
      this.#thisTick.push({ key, found: (bytes) => resolve(parse(bytes)), reject })
    })
  }

  readonly #send = (): void => {
    const reads = this.#thisTick
    this.#thisTick = []
    this.#underWay += reads.length
    const size = this.#size()
    for (let start = 0; start < reads.length; start += size) {
      if (start === reads.length - 1 || size === 1) this.#get(reads[start] as Read)
      else this.#mget(reads.slice(start, start + size))
    }
  }

  /** How many keys go into one command. */
  #size(): number {
    if (this.#client.isCluster) return 1
    return this.#answering && this.#underWay > few ? Math.min(most, Math.ceil(this.#underWay / enough)) : most
  }

  #answered(reads: number): void {
    this.#underWay -= reads
    if (this.#answering) return
    this.#answering = true
    setImmediate(this.#endTurn)
  }

  readonly #endTurn = (): void => {
    this.#answering = false
  }

  #get({ key, found, reject }: Read): void {
    this.#client.getBuffer(key).then(
      (bytes) => {
        this.#answered(1)
        found(bytes)
      },
      (error: unknown) => {
        this.#answered(1)
        // MGET has nothing to say of foreign types either.
        if (error instanceof Error && error.message.startsWith('WRONGTYPE')) found(null)
        else reject(error)
      },
    )
  }

  #mget(reads: readonly Read[]): void {
    this.#client.mgetBuffer(reads.map(({ key }) => key)).then(
      (values) => {
        this.#answered(reads.length)
        for (const [index, { found }] of reads.entries()) found(values[index] ?? null)
      },
      (error: unknown) => {
        this.#answered(reads.length)
        for (const { reject } of reads) reject(error)
      },
    )
  }
}
