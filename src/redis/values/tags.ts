import { LRUCache } from 'lru-cache'
import { systemClock } from '../../core/time/clock.ts'
import { withDeadline } from '../../core/time/deadline.ts'
import {
  asInvalidated,
  endsOf,
  epochsIn,
  inspected,
  isTouched,
  tagKept,
  type TagEpochs,
} from '../../core/entry/tags.ts'
import { ignoreRejection } from '../../core/errors.ts'
import type { Entry, Invalidation } from '../../core/contract/store.ts'
import type { RedisPort } from '../connection/port.ts'
import type { RedisEntry } from './entry.ts'
import { copiesKey, epochKey, tagKey } from './keys.ts'
import type { Reader } from './reader.ts'
import { runScript } from '../connection/run-script.ts'
import * as scripts from '../scripts.ts'

/** The number of values whose tags are remembered: these are read along with the value, in one round trip. */
const remembered = 10_000

/** How long a load waits for the server of its tags, in milliseconds. */
const timeout = 100

/** How much longer a tag stays than the values that have it, in milliseconds. */
const margin = 2_000

/** A value or an error, as far as tags may void it: `since` is the epoch at which its load began. */
export type Voidable = Pick<RedisEntry, 'tags' | 'since'>

/** The epochs of tags under way; `null` for a missing one. */
export type Epochs = ReadonlyMap<string, Promise<TagEpochs | null>>

const none: Epochs = new Map()

/** Tags on Redis. */
export class Tags {
  readonly #client: RedisPort
  readonly #reader: Reader
  /** The last known tags of values, by key. */
  readonly #known = new LRUCache<string, readonly string[]>({ max: remembered })

  constructor(client: RedisPort, reader: Reader) {
    this.#client = client
    this.#reader = reader
  }

  /**
   * Reads the epochs of the tags that a value probably has, in the same tick as the value.
   * @param said the guess for a value whose tags are not known
   */
  expected(key: string, said: readonly string[]): Epochs {
    const tags = (this.#known.size > 0 ? this.#known.get(key) : undefined) ?? said
    return tags.length === 0 ? none : this.#read(tags)
  }

  /** Checks a value against its tags; epochs that are not under way are read now. */
  async seen(key: string, entry: RedisEntry, epochs: Epochs = none): Promise<Entry> {
    const { tags, since } = entry
    this.#known.set(key, tags)
    const more = tags.filter((tag) => !epochs.has(tag))
    const all = more.length === 0 ? epochs : new Map([...epochs, ...this.#read(more)])
    return asInvalidated(entry, endsOf(since, await foundOf(tags, all)), entry.seenAt)
  }

  /** Whether an invalidation of one of its tags has lifted an error. */
  async haveLifted({ tags, since }: Voidable): Promise<boolean> {
    return isTouched(endsOf(since, await foundOf(tags, this.#read(tags))))
  }

  /** As `inspected`. */
  async inspected(entry: RedisEntry): Promise<ReturnType<typeof inspected>> {
    return inspected(entry, entry.since, await foundOf(entry.tags, this.#read(entry.tags)), entry.seenAt)
  }

  /**
   * The epoch for a load that is about to begin, where the server of its key does not know it. 0 if it does not arrive
   * soon: then the load goes on, and its value is void if one of its tags existed before.
   */
  async now(key: string): Promise<number> {
    const asked = async (): Promise<number> => {
      return epochIn((await runScript(this.#client, scripts.epoch, [epochKey(key)], [])) as Buffer) ?? 0
    }
    return await withDeadline(asked, { most: timeout, clock: systemClock }).catch(() => 0)
  }

  /**
   * Makes sure that the epochs of a value's tags exist as long as the value. `false`: a tag was invalidated after
   * `since`.
   * @param since the epoch at which its load began
   * @param life in milliseconds
   */
  async mark(tags: readonly string[], since: number, life: number): Promise<boolean> {
    return (await this.#mark(tags, since, life)) !== null
  }

  /** Makes sure of the tags of a value of this moment; resolves with its epoch. */
  async markNow(tags: readonly string[], life: number): Promise<number> {
    return Number(await this.#mark(tags, '', life))
  }

  /** The epoch of the value; `null` if a tag was invalidated after `since`. */
  #mark(tags: readonly string[], since: number | '', life: number): Promise<unknown> {
    const keys = [epochKey(tags[0] as string), ...tags.map(tagKey)]
    return runScript(this.#client, scripts.markTags, keys, [since, Math.ceil(life) + margin])
  }

  /** Invalidates tags; resolves with whether a process keeps copies in their namespace. */
  async invalidate(tags: readonly string[], how: Invalidation): Promise<boolean> {
    const name = tags[0] as string
    const keys = [epochKey(name), copiesKey(name), ...tags.map(tagKey)]
    const args = typeof how === 'number' ? ['soft', Math.ceil(how)] : [how, '']
    return Number(await runScript(this.#client, scripts.invalidateTags, keys, [tagKept, ...args])) === 1
  }

  #read(tags: readonly string[]): Map<string, Promise<TagEpochs | null>> {
    return new Map(
      tags.map((tag) => {
        const epochs = this.#reader.read(tagKey(tag), (bytes) => bytes && epochsIn(bytes.toString('latin1')))
        // The value may turn out not to have this tag.
        ignoreRejection(epochs)
        return [tag, epochs]
      }),
    )
  }
}

/** The epochs of tags in their order. */
function foundOf(tags: readonly string[], epochs: Epochs): Promise<(TagEpochs | null)[]> {
  return Promise.all(tags.map(async (tag) => (await epochs.get(tag)) ?? null))
}

/** The epoch in stored bytes; `null` if they are not one. */
export function epochIn(bytes: Buffer | null): number | null {
  const epoch = bytes === null ? Number.NaN : Number(bytes.toString('latin1'))
  return Number.isSafeInteger(epoch) ? epoch : null
}
