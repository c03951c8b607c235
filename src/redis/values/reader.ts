import { TickBatch, timers } from '../../core/time/clock.ts'
import type { RedisPort } from '../connection/port.ts'

/** The most keys in one MGET: the server does nothing else meanwhile, and the first key waits for the last. */
const most = 128

/** The number of commands under way under load: one is executed, others travel, and one is written or read here. */
const enough = 6

/** Up to this many reads under way may belong to one caller: a value and its tags. */
const few = 4

interface Read {
  readonly key: string
  readonly found: (bytes: Buffer | null) => void
  readonly reject: (error: unknown) => void
}

/**
 * Plain reads. The reads of one tick go out as one MGET, which is several times as fast as single GETs. But callers
 * that ask again as soon as they are answered would all wait for one reply, and the server for all of them. So under
 * load the reads are divided among enough commands to keep both sides busy. In a cluster, where the keys live on
 * several nodes, each read is a GET.
 */
export class Reader {
  readonly #client: RedisPort
  /** In a microtask, because the reads of one tick of the cache arrive together. */
  readonly #thisTick = new TickBatch<Read>(
    (reads) => this.#send(reads),
    (send) => void Promise.resolve().then(send),
  )
  /** Reads without a reply yet. */
  #underWay = 0
  /** Whether a read was answered in this turn of the event loop. */
  #answering = false

  constructor(client: RedisPort) {
    this.#client = client
  }

  /**
   * Reads a key.
   * @param parse converts the bytes; they are `null` for a missing key or a foreign type
   */
  read<T>(key: string, parse: (bytes: Buffer | null) => T | PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      // Settles the caller's promise directly: a promise in between would cost every hit.
      this.#thisTick.add({ key, found: (bytes) => resolve(parse(bytes)), reject })
    })
  }

  /** Reads some hundred keys for one caller, which waits for all of them. */
  readMany(keys: readonly string[]): Promise<readonly (Buffer | null)[]> {
    const isOneCommand = keys.length > 1 && !this.#client.isCluster
    return isOneCommand ? this.#client.mget(keys) : Promise.all(keys.map((key) => this.read(key, (bytes) => bytes)))
  }

  #send(reads: readonly Read[]): void {
    this.#underWay += reads.length
    const size = this.#size()
    for (let start = 0; start < reads.length; start += size) {
      if (start === reads.length - 1 || size === 1) this.#get(reads[start] as Read)
      else this.#mget(reads.slice(start, start + size))
    }
  }

  /** The number of keys per command. */
  #size(): number {
    if (this.#client.isCluster) return 1
    return this.#answering && this.#underWay > few ? Math.min(most, Math.ceil(this.#underWay / enough)) : most
  }

  #answered(reads: number): void {
    this.#underWay -= reads
    if (this.#answering) return
    this.#answering = true
    timers.setImmediate(this.#endTurn)
  }

  readonly #endTurn = (): void => {
    this.#answering = false
  }

  #get({ key, found, reject }: Read): void {
    this.#client.get(key).then(
      (bytes) => {
        this.#answered(1)
        found(bytes)
      },
      (error: unknown) => {
        this.#answered(1)
        // MGET returns null for foreign types as well.
        if (error instanceof Error && error.message.startsWith('WRONGTYPE')) found(null)
        else reject(error)
      },
    )
  }

  #mget(reads: readonly Read[]): void {
    this.#client.mget(reads.map(({ key }) => key)).then(
      (values) => {
        this.#answered(reads.length)
        for (const [index, { found }] of reads.entries()) found(values[index] ?? null)
      },
      (error: unknown) => {
        this.#answered(reads.length)
        // One key made the server refuse the whole command: that of another cache, whose namespace is forbidden.
        if (error instanceof Error && error.message.startsWith('NOPERM')) {
          this.#underWay += reads.length
          for (const read of reads) this.#get(read)
        } else for (const { reject } of reads) reject(error)
      },
    )
  }
}
