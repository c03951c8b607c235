import type { KeyValue } from './record.ts'
import type { Lock, LockLease } from '../core/contract/lock.ts'
import { shortName } from '../core/entry/key.ts'
import {
  type Ends,
  endsOf,
  epochsIn,
  invalidated,
  namespaceOf,
  tagKept,
  textOfEpochs,
  type TagEpochs,
} from '../core/entry/tags.ts'
import type { Invalidation } from '../core/contract/store.ts'
import type { StoredValue } from './record.ts'

/** The ttl of a lock, in milliseconds: enough for one get and one set. */
export const ttl = 10_000

/** How long a lock must still be valid when something is written, in milliseconds. */
export const margin = 1_000

/** The epochs of a tag, and until when they are kept, in milliseconds since 1970. */
interface KeptEpochs extends TagEpochs {
  readonly until: number
}

/** The epochs of tags in a plain key-value store, each under its name behind a colon; no key begins with one. */
export class LockedTags {
  readonly #keyValue: KeyValue
  readonly #lock: Lock

  constructor(keyValue: KeyValue, lock: Lock) {
    this.#keyValue = keyValue
    this.#lock = lock
  }

  /** The epoch at which a load begins now, in the namespace of this name. */
  async now(name: string): Promise<number> {
    // Less than the epoch of an invalidation within the same millisecond.
    return (await this.#get(namespaceOf(name)))?.hard ?? Date.now() * 1_000 - 1
  }

  /** The epochs of tags; `null` for a missing one. */
  epochs(tags: readonly string[]): Promise<(KeptEpochs | null)[]> {
    return Promise.all(tags.map((tag) => this.#get(tag)))
  }

  /** As `endsOf`, for a value or a remembered error. */
  async endsOf({ tags, since }: Pick<StoredValue, 'tags' | 'since'> = { tags: [], since: 0 }): Promise<Ends> {
    return endsOf(since, await this.epochs(tags))
  }

  /** Makes sure that the epochs of tags exist for `life` milliseconds. `false`: a tag was invalidated after `since`. */
  mark(tags: readonly string[], since: number, life: number): Promise<boolean> {
    return this.#alone(tags, async (namespace, lease) => {
      const known = await this.#get(namespace)
      const epochs = await this.epochs(tags)
      if (epochs.some((each) => each !== null && Math.max(each.hard, each.soft) > since)) return false
      // A paused process must not put back the epochs that it read.
      lease.assertValid(margin)
      const first = { hard: since, soft: 0 }
      if ((known?.hard ?? 0) < since) await this.#set(namespace, first, tagKept + life, known)
      await Promise.all(tags.map((tag, index) => this.#set(tag, epochs[index] ?? first, life, epochs[index])))
      return true
    })
  }

  invalidate(tags: readonly string[], how: Invalidation): Promise<void> {
    return this.#alone(tags, async (namespace, lease) => {
      const known = await this.#get(namespace)
      const epoch = Math.max(Date.now() * 1_000, (known?.hard ?? 0) + 1)
      const epochs = await this.epochs(tags)
      lease.assertValid(margin)
      await this.#set(namespace, { hard: epoch, soft: 0 }, 2 * tagKept, known)
      await Promise.all(
        tags.map((tag, index) => {
          const before = epochs[index] ?? null
          // A hard one voids all that earlier ones have voided.
          return this.#set(tag, invalidated(how === 'hard' ? null : before, epoch, how), tagKept, before)
        }),
      )
    })
  }

  #alone<T>(tags: readonly string[], work: (namespace: string, lease: LockLease) => Promise<T>): Promise<T> {
    const namespace = namespaceOf(tags[0] as string)
    return this.#lock.run(shortName(`cache-tags:${namespace}`), (lease) => work(namespace, lease), { ttl })
  }

  async #get(name: string): Promise<KeptEpochs | null> {
    const bytes = await this.#keyValue.get(`:${name}`)
    const [text = '', until = ''] = bytes == null ? [] : Buffer.from(bytes).toString().split(';')
    const epochs = epochsIn(text)
    return text === '' || epochs === null ? null : { ...epochs, until: Number(until) }
  }

  /** Keeps epochs for `life` milliseconds at least, and for as long as those `before` them. */
  async #set(name: string, epochs: TagEpochs, life: number, before: KeptEpochs | null = null): Promise<void> {
    const now = Date.now()
    const until = Math.max(now + Math.max(life, tagKept), before?.until ?? 0)
    await this.#keyValue.set(`:${name}`, Buffer.from(`${textOfEpochs(epochs)};${until}`), until - now)
  }
}
