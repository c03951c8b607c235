import type { KeyValue } from './key-value.ts'
import type { Lock } from './lock.ts'
import type { StoredValue } from './record.ts'
import { shortName } from './short-name.ts'
import { isVoid, namespaceOf, tagKept } from './tags.ts'

/** The epochs of tags in a plain key-value store: each under its name behind a colon, which no key begins with. */
export class LockedTags {
  readonly #keyValue: KeyValue
  readonly #lock: Lock

  constructor(keyValue: KeyValue, lock: Lock) {
    this.#keyValue = keyValue
    this.#lock = lock
  }

  /** The epoch that loads begin with in the namespace of this name. */
  async now(name: string): Promise<number> {
    // Less than that of an invalidation that comes within the same millisecond.
    return (await this.#get(namespaceOf(name))) ?? Date.now() * 1_000 - 1
  }

  /** Those of tags; `null` for one that is not there. */
  epochs(tags: readonly string[]): Promise<(number | null)[]> {
    return Promise.all(tags.map((tag) => this.#get(tag)))
  }

  /** Those tags of a value that void it. */
  async voiding({ tags, since }: Pick<StoredValue, 'tags' | 'since'> = { tags: [], since: 0 }): Promise<string[]> {
    const epochs = await this.epochs(tags)
    return tags.filter((_, index) => isVoid(since, epochs.slice(index, index + 1)))
  }

  /** Sees to it that they are there for so long; `false` if one was invalidated since. */
  mark(tags: readonly string[], since: number, life: number): Promise<boolean> {
    return this.#alone(tags, async (namespace) => {
      if (((await this.#get(namespace)) ?? 0) < since) await this.#set(namespace, since, tagKept + life)
      const epochs = await this.epochs(tags)
      if (epochs.some((epoch) => epoch !== null && epoch > since)) return false
      await Promise.all(tags.map((tag, index) => this.#set(tag, epochs[index] ?? since, life)))
      return true
    })
  }

  invalidate(tags: readonly string[]): Promise<void> {
    return this.#alone(tags, async (namespace) => {
      const epoch = Math.max(Date.now() * 1_000, ((await this.#get(namespace)) ?? 0) + 1)
      await this.#set(namespace, epoch, 2 * tagKept)
      await Promise.all(tags.map((tag) => this.#set(tag, epoch, tagKept)))
    })
  }

  #alone<T>(tags: readonly string[], work: (namespace: string) => Promise<T>): Promise<T> {
    const namespace = namespaceOf(tags[0] as string)
    return this.#lock.run(shortName(`cache-tags:${namespace}`), () => work(namespace))
  }

  async #get(name: string): Promise<number | null> {
    const bytes = await this.#keyValue.get(`:${name}`)
    const epoch = bytes == null ? Number.NaN : Number(Buffer.from(bytes).toString())
    return Number.isSafeInteger(epoch) ? epoch : null
  }

  async #set(name: string, epoch: number, life: number): Promise<void> {
    await this.#keyValue.set(`:${name}`, Buffer.from(String(epoch)), Math.max(life, tagKept))
  }
}
