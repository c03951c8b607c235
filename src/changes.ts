import type { Cache } from './core/cache/cache.ts'
import { checkedKey } from './core/entry/key.ts'
import { checkedTags, mostTags } from './core/entry/tags.ts'
import { CacheError, unavailableError } from './core/errors.ts'
import { formatValue } from './core/time/duration.ts'

/** A cache whose invalidations can be collected. */
type Invalidated = Pick<Cache, 'invalidate' | 'invalidateTags'>

/** The changes of a transaction: each call adds an invalidation, which is carried out after the commit. */
export interface Changes {
  /**
   * Adds `cache.invalidate(key)`. A key that is added twice is invalidated once.
   * @throws TypeError for a wrong argument, or once the changes are applied or discarded
   */
  invalidate(cache: Invalidated, key: string): void

  /**
   * Adds `cache.invalidateTags(tags)`. All added tags of a cache are invalidated together, 64 in a command.
   * @throws TypeError for a wrong argument, or once the changes are applied or discarded
   */
  invalidateTags(cache: Invalidated, tags: readonly string[]): void
}

/** Changes that are applied and discarded by hand. At the end of a `using` block they are discarded unless applied. */
export interface CollectedChanges extends Changes, Disposable {
  /**
   * Carries out the invalidations, all at once; call it after the commit. Applied or discarded changes are not carried
   * out again: a further call repeats those that failed, and no other.
   * @throws the `CacheError` of the failed invalidation: STORE_UNAVAILABLE, CLOSED. If several failed, a `CacheError`
   *   with the code of the first, whose cause is an AggregateError with all of them
   */
  apply(): Promise<void>

  /** Drops the invalidations; call it after a rollback. */
  discard(): void
}

/** Collects the invalidations of a transaction, to be applied after the commit. */
export function collectChanges(): CollectedChanges {
  return new ChangeCollector()
}

/**
 * Runs work that contains a whole transaction, then applies the changes that it has collected; if the work throws, they
 * are discarded.
 * @param work begins and commits the transaction; when it resolves, the changes are committed
 * @returns the result of the work
 * @throws what the work threw; as `apply` of the changes, which are then committed but not all invalidated
 */
export async function invalidateAfter<T>(work: (changes: Changes) => Promise<T> | T): Promise<T> {
  if (typeof work !== 'function') throw new TypeError(`Expected the work to be a function, got ${formatValue(work)}`)
  const changes = collectChanges()
  let result: T
  try {
    result = await work(changes)
  } catch (error) {
    changes.discard()
    throw error
  }
  await changes.apply()
  return result
}

/** The invalidations of one cache that are yet to be carried out. */
interface Pending {
  readonly keys: Set<string>
  readonly tags: Set<string>
}

class ChangeCollector implements CollectedChanges {
  readonly #pending = new Map<Invalidated, Pending>()
  #state: 'collecting' | 'applied' | 'discarded' = 'collecting'
  #applying: Promise<void> | null = null

  invalidate(cache: Invalidated, key: string): void {
    const { keys } = this.#pendingOf(cache)
    keys.add(checkedKey(key))
  }

  invalidateTags(cache: Invalidated, tags: readonly string[]): void {
    const pending = this.#pendingOf(cache)
    for (const tag of checkedTags('tags', tags)) pending.tags.add(tag)
  }

  async apply(): Promise<void> {
    if (this.#state === 'collecting') this.#state = 'applied'
    await (this.#applying ??= this.#carryOut())
  }

  discard(): void {
    this.#state = 'discarded'
    this.#pending.clear()
  }

  [Symbol.dispose](): void {
    this.discard()
  }

  #pendingOf(cache: Invalidated): Pending {
    // A change that is added later belongs to no commit, and would never be carried out.
    if (this.#state !== 'collecting') throw new TypeError(`Expected no further change: these are ${this.#state}`)
    if (typeof cache?.invalidateTags !== 'function') throw new TypeError(`Expected a cache, got ${formatValue(cache)}`)
    const pending = this.#pending.get(cache) ?? { keys: new Set(), tags: new Set() }
    this.#pending.set(cache, pending)
    return pending
  }

  async #carryOut(): Promise<void> {
    const commands = [...this.#pending].flatMap(([cache, pending]) => commandsOf(cache, pending))
    const outcomes = await Promise.allSettled(commands)
    this.#applying = null
    const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
    if (errors.length > 1) throw errorOfSeveral(errors, commands.length)
    if (errors.length === 1) throw errors[0]
  }
}

/** Sends the invalidations of one cache. Those that are carried out are pending no more. */
function commandsOf(cache: Invalidated, { keys, tags }: Pending): Promise<void>[] {
  const ofKey = async (key: string): Promise<void> => {
    await cache.invalidate(key)
    keys.delete(key)
  }
  const ofTags = async (some: readonly string[]): Promise<void> => {
    await cache.invalidateTags(some)
    for (const tag of some) tags.delete(tag)
  }
  const groups = Array.from({ length: Math.ceil(tags.size / mostTags) }, (_, index) =>
    [...tags].slice(index * mostTags, (index + 1) * mostTags),
  )
  return [...[...keys].map(ofKey), ...groups.map(ofTags)]
}

function errorOfSeveral(errors: readonly unknown[], count: number): CacheError {
  const { code, message } = unavailableError(errors[0])
  const cause = new AggregateError(errors)
  return new CacheError(code, `${errors.length} of ${count} invalidations failed, the first with: ${message}`, {
    cause,
  })
}
