import { systemClock } from '../../core/time/clock.ts'
import type { Entry, Outcome } from '../../core/contract/store.ts'
import { entryIn } from './entry.ts'
import { valueKey } from './keys.ts'
import type { Failed, Heard } from './outcome.ts'
import type { Reader } from './reader.ts'
import type { ServerClock } from '../connection/server-clock.ts'
import type { Tags } from './tags.ts'

/** The values in Redis, judged by the server's clock and by their tags. */
export class Values {
  readonly #reader: Reader
  readonly #tags: Tags
  readonly #clock: ServerClock

  constructor(reader: Reader, tags: Tags, clock: ServerClock) {
    this.#reader = reader
    this.#tags = tags
    this.#clock = clock
  }

  /**
   * Reads a value, as invalidations of its tags leave it.
   * @param tags the tags that it probably has
   */
  read(key: string, tags: readonly string[]): Promise<Entry | null> {
    return this.#clock.known ? this.#read(key, tags) : this.#clock.first().then(() => this.#read(key, tags))
  }

  /** As `read` of each key. */
  async readMany(keys: readonly string[]): Promise<(Entry | null)[]> {
    if (!this.#clock.known) await this.#clock.first()
    const found = await this.#reader.readMany(keys.map((key) => valueKey(key)))
    const now = systemClock.now()
    this.#clock.refresh(now)
    const serverNow = this.#clock.at(now)
    const entries: (Entry | null)[] = []
    const tagged: Promise<void>[] = []
    for (const [index, bytes] of found.entries()) {
      const entry = bytes === null ? null : entryIn(bytes, serverNow)
      entries.push(entry)
      if (entry === null || entry.tags.length === 0) continue
      tagged.push(this.#tags.seen(keys[index] as string, entry).then((seen) => void (entries[index] = seen)))
    }
    if (tagged.length > 0) await Promise.all(tagged)
    return entries
  }

  /** The value in a reply; `null` if there is none, or if invalidations of its tags leave no grace. */
  async replied(key: string, bytes: unknown): Promise<Entry | null> {
    const entry = Buffer.isBuffer(bytes) ? entryIn(bytes, this.#clock.now()) : null
    if (entry === null || entry.tags.length === 0) return entry
    const seen = await this.#tags.seen(key, entry)
    return seen.outdated === true && seen.staleFor <= 0 ? null : seen
  }

  /**
   * Re-check tags when a pushed outcome arrives: the holder may have paused between its tag check and the end of its
   * load, and a waiter may have asked after an invalidation in between.
   */
  async waited(key: string, heard: Heard): Promise<Outcome> {
    if (heard.state === 'failed') return await this.#failed(heard)
    if (heard.state !== 'filled' || heard.entry.tags.length === 0) return heard
    const seen = await this.#tags.seen(key, heard.entry).catch(() => null)
    if (seen === null) return { state: 'read' }
    return seen.outdated === true ? { state: 'again' } : heard
  }

  async #failed({ state, failure, ...tagged }: Failed): Promise<Outcome> {
    const isLifted = await this.#tags.haveLifted(tagged).catch(() => null)
    // Without an answer of the store, the waiter asks again.
    if (isLifted === null) return { state: 'read' }
    return isLifted ? { state: 'again' } : { state, failure }
  }

  #read(key: string, tags: readonly string[]): Promise<Entry | null> {
    const epochs = this.#tags.expected(key, tags)
    return this.#reader.read<Entry | null>(valueKey(key), (bytes) => {
      if (bytes === null) return null
      // Only a found value needs the clock: a miss leads to a claim, whose reply brings the time.
      const now = systemClock.now()
      this.#clock.refresh(now)
      const entry = entryIn(bytes, this.#clock.at(now))
      return entry === null || entry.tags.length === 0 ? entry : this.#tags.seen(key, entry, epochs)
    })
  }
}
