import type { Cache, Peeked, Wrappable, Wrapped, WrapOptions } from './cache.ts'
import { loadingNow } from './circle.ts'
import { drawn } from './clock.ts'
import { about, CacheError, closed } from './errors.ts'
import type { CacheEvents } from './events.ts'
import { encoded } from './payload.ts'
import { freshness, jittered, ttlOf } from './freshness.ts'
import { Call, type CallShared } from './get-or-load.ts'
import { checkKey } from './key.ts'
import { checkLoader, type Loader } from './load.ts'
import { together, type BatchLoader } from './many.ts'
import type { Copy, Near } from './near.ts'
import type { CallOptions, CloseOptions, SetOptions } from './options.ts'
import { closeTimeout, refinedForSet, type CachePlan } from './plan.ts'
import type { Question } from './question.ts'
import { peeked, type Found } from './reads.ts'
import type { Store } from './store.ts'
import { checkedTags } from './tags.ts'
import type { CacheStats } from './tally.ts'
import { wired } from './wiring.ts'
import { Wraps } from './wrap.ts'

/** A cache whose misses are loaded once in the whole fleet. */
export class FleetCache implements Cache {
  readonly #plan: CachePlan
  readonly #shared: CallShared
  readonly #near: Near | null
  readonly #wraps: Wraps
  readonly #writes = new Set<Promise<void>>()
  #state: 'open' | 'closing' | 'closed' = 'open'
  #closing: Promise<void> | null = null
  /** How many calls are at their first read, which most of them end with. */
  #reading = 0
  #readsOver: () => void = () => undefined

  constructor(plan: CachePlan, backing: Store) {
    this.#plan = plan
    this.#wraps = new Wraps(this, plan)
    this.#shared = wired(plan, backing)
    this.#near = this.#shared.near
    this.#shared.store.open()
  }

  getOrLoad<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    // A hit of the near tier costs no more than it must.
    const copy = this.#near === null || this.#state !== 'open' ? undefined : this.#near.get(key)
    if (copy === undefined || typeof loader !== 'function') return this.#getOrLoad(key, loader, options)
    if (options !== undefined || this.#plan.refreshAhead !== null) return this.#served(copy, key, loader, options)
    this.#shared.events.nearHit(key)
    return Promise.resolve(copy.value as T)
  }

  async #getOrLoad<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    const question = this.#question('getOrLoad', key, loader, options)
    const { plan, signal } = question
    const { flights, reads, events } = this.#shared
    // A hit takes the short way, unless the caller might not have the patience for a read. Where this process is loading
    // the key already and there is nothing stale to serve, there is nothing to read.
    const short = signal === undefined && plan.waitTimeout > this.#plan.commandTimeout
    if (!short || flights.joinable(key)?.hasStale === false)
      return (await new Call(this.#shared, question).answer(null)) as T
    let read: Found | CacheError
    this.#reading++
    try {
      read = await reads.read(key, plan.tags)
      if (read.state === 'entry' && freshness(read.entry, 0) === 'fresh') {
        events.hit(key)
        if (plan.refreshAhead !== null) flights.refreshAhead(question, read.entry, read.value)
        return read.value as T
      }
    } catch (error) {
      read = error as CacheError
    } finally {
      if (--this.#reading === 0) this.#readsOver()
    }
    if (this.#state === 'closed') throw closed(key)
    return (await new Call(this.#shared, question).answer(read)) as T
  }

  async getOrLoadMany<T>(
    keys: readonly string[],
    loadMany: BatchLoader<T>,
    options?: CallOptions,
  ): Promise<(T | CacheError)[]> {
    return await together(keys, loadMany, (key, loader) => this.getOrLoad(key, loader, options))
  }

  async refresh<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    const question = this.#question('refresh', key, loader, options)
    return (await new Call(this.#shared, question).answer(null)) as T
  }

  wrap<F extends Wrappable>(fn: F, options: WrapOptions<Parameters<F>>): Wrapped<F> {
    return this.#wraps.wrap(fn, options)
  }

  async peek<T = unknown>(key: string): Promise<Peeked<T>> {
    checkKey(key)
    this.#checkOpen(key)
    const found = await this.#shared.reads.read(key, this.#plan.tags).catch((error: CacheError) => {
      throw about(key, error)
    })
    return peeked<T>(found, this.#plan.grace)
  }

  async set(key: string, value: unknown, options?: SetOptions): Promise<void> {
    checkKey(key)
    const plan = options === undefined ? this.#plan : refinedForSet(this.#plan, options)
    const { grace, maxValueSize, inlineLimit } = plan
    const said = options?.ttl === undefined ? ttlOf(value, plan) : plan.ttl
    const ttl = jittered(said, plan.jitter, drawn(this.#plan.clock))
    const tags = this.#shared.tagNames.of(key, plan.tags)
    this.#checkOpen(key)
    const payload = encoded(value, key, maxValueSize, this.#plan.codec)
    if (payload instanceof CacheError) throw payload
    const { store, named, token } = this.#shared
    await this.#overwrite(key, () =>
      store.set(named(key), token(), { payload, ttl, grace, loadTime: 0, inlineLimit, tags }),
    )
  }

  async invalidate(key: string): Promise<void> {
    checkKey(key)
    this.#checkOpen(key)
    const { store, named } = this.#shared
    await this.#overwrite(key, () => store.invalidate(named(key)))
  }

  async invalidateTags(tags: readonly string[]): Promise<void> {
    const checked = checkedTags('tags', tags)
    this.#checkOpen()
    if (checked.length === 0) return
    const { tagNames, events } = this.#shared
    await this.#void(tagNames.said(checked))
    events.emit('invalidateTags', { tags: checked })
  }

  async invalidatePrefix(prefix: string): Promise<void> {
    const { tagNames, events } = this.#shared
    const tag = tagNames.prefix(prefix)
    this.#checkOpen()
    await this.#void([tag])
    events.emit('invalidatePrefix', { prefix })
  }

  async clear(): Promise<void> {
    await this.invalidatePrefix('')
  }

  on<Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): () => void {
    return this.#shared.events.on(name, listener)
  }

  stats(): CacheStats {
    return this.#shared.events.stats()
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const timeout = closeTimeout(options)
    return (this.#closing ??= this.#close(timeout))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** A hit of the near tier about which there is more to say. */
  async #served<T>(copy: Copy, key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    const question = this.#question('getOrLoad', key, loader, options)
    const { events, flights, near } = this.#shared
    events.nearHit(key)
    if (near !== null) flights.refreshAhead(question, near.aged(copy), copy.value)
    return copy.value as T
  }

  /** What is asked, checked. */
  #question<T>(who: 'getOrLoad' | 'refresh', key: string, loader: Loader<T>, options?: CallOptions): Question {
    checkKey(key)
    checkLoader(key, loader)
    const plan = this.#wraps.planOf(options, who)
    const { signal } = plan
    this.#checkOpen(key)
    signal?.throwIfAborted()
    const { moment, clock } = this.#shared
    return { key, loader, plan, refresh: who === 'refresh', signal, asked: moment(), askedAt: clock.now() }
  }

  async #overwrite(key: string, write: () => Promise<void>): Promise<void> {
    const { flights, events, near } = this.#shared
    // Calls from here on do not join what began before.
    flights.detach(key)
    near?.forget(key)
    await this.#written(write()).catch((error: CacheError) => {
      throw about(key, error)
    })
    events.emit('invalidate', { key })
  }

  async #void(tags: readonly string[]): Promise<void> {
    this.#near?.dropTags(tags)
    await this.#written(this.#shared.store.invalidateTags(tags))
  }

  /** A write that `close` waits for. */
  async #written(write: Promise<void>): Promise<void> {
    this.#writes.add(write)
    try {
      await write
    } finally {
      this.#writes.delete(write)
    }
  }

  async #close(timeout: number): Promise<void> {
    const { flights, open, lonely, watchdog, clock, store, near } = this.#shared
    this.#state = 'closing'
    await new Promise<void>((resolve) => {
      const timer = clock.after(timeout, resolve)
      void this.#idle().then(() => {
        timer.cancel()
        resolve()
      })
    })
    this.#state = 'closed'
    flights.giveUp()
    lonely.giveUp()
    for (const call of open) call.giveUp(closed(call.key))
    await flights.landed()
    flights.close()
    watchdog.close()
    near?.close()
    await store.replay()
    await store.close()
  }

  /** Resolves when nothing is under way any more, nor what has come of it meanwhile. */
  async #idle(): Promise<void> {
    const { flights, open } = this.#shared
    do {
      if (this.#reading > 0) await new Promise<void>((resolve) => (this.#readsOver = resolve))
      await Promise.allSettled([flights.landed(), ...this.#writes, ...[...open].map((call) => call.answered)])
    } while (this.#reading > 0 || open.size > 0 || this.#writes.size > 0)
  }

  /** A loader that may end may also ask for what it needs. */
  #checkOpen(key?: string): void {
    if (this.#state === 'open' || (this.#state === 'closing' && loadingNow() !== null)) return
    throw closed(key)
  }
}
