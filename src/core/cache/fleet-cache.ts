/*
 * Room: cache. The public cache, made of the parts of all other rooms.
 *
 * Reading order: cache.ts (the public interface), fleet-cache.ts (the short path of hits), calls.ts (callers
 * that want the same), call.ts (one call), reads.ts (reads), search.ts (what a read means, and flights),
 * pending-answer.ts (the patience of a caller and of its followers), writes.ts (set and invalidate), assembly.ts
 * (how the parts fit together), create.ts. Then the extras: many.ts, wrap.ts, explain.ts,
 * sibling.ts (a cache for responses beside a cache of the user) and observing-cache.ts (`mode: 'observe'`).
 */
import type { Cache, Peeked, Wrappable, Wrapped, WrapOptions } from './cache.ts'
import { currentLoad } from '../load/circular-load.ts'
import { waitAtMost } from '../time/deadline.ts'
import { withKey, closedError, type CacheError } from '../errors.ts'
import type { CacheEvents, Events } from '../observe/events.ts'
import { explainKey, type Explanation, breakLease, listLeases, type HeldLease } from './explain.ts'
import { checkedKey, checkKey } from '../entry/key.ts'
import { answerOf, ledToCaller } from '../load/failures.ts'
import { checkLoader, type CallRequest, type Loader } from '../load/loader.ts'
import { loadTogether, type BatchLoader } from './many.ts'
import type { Near } from '../near/near.ts'
import type { CallOptions, CloseOptions, SetOptions } from '../options/options.ts'
import { toPeeked } from './reads.ts'
import { CallPlans, closeTimeout, siblingPlan, type CachePlan } from '../options/plan.ts'
import { Sibling, type SiblingChanges } from './sibling.ts'
import type { Store } from '../contract/store.ts'
import { checkedTags } from '../entry/tags.ts'
import type { CacheStats } from '../observe/counters.ts'
import type { Tracer } from '../observe/tracing.ts'
import { assemble, type CacheParts } from './assembly.ts'
import { Writes } from './writes.ts'
import { Wraps } from './wrap.ts'

/** The cache with single flight across the fleet. */
export class FleetCache implements Cache {
  readonly #plan: CachePlan
  readonly #backing: Store
  readonly #parts: CacheParts
  /** The near cache for hits that need no further check; `null` with refresh-ahead and once closing. */
  #near: Near | null
  readonly #plans: CallPlans
  readonly #wraps: Wraps
  readonly #writes: Writes
  readonly #siblings: FleetCache[] = []
  #state: 'open' | 'closing' | 'closed' = 'open'
  #closing: Promise<void> | null = null

  /** @param elder the cache whose sibling this one is: it opens and closes the store */
  constructor(plan: CachePlan, backing: Store, elder: FleetCache | null = null) {
    this.#plan = plan
    this.#backing = backing
    this.#plans = new CallPlans(plan)
    this.#wraps = new Wraps(this, plan, this.#plans)
    this.#parts = assemble(plan, backing, elder === null ? null : elder.#parts)
    this.#near = plan.refreshAhead === null ? this.#parts.near : null
    this.#writes = new Writes(plan, this.#parts)
    if (elder === null) this.#parts.store.open()
  }

  getOrLoad<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    try {
      // The shortest path: a near hit of a call that needs no check.
      const near = this.#near
      if (near !== null && typeof loader === 'function' && this.#plans.areForLoads(options)) {
        const answer = near.answer(key)
        if (answer !== undefined) {
          this.#parts.events.nearHit(key)
          return answer as Promise<T>
        }
      }
      return this.#ask(this.#request('getOrLoad', key, loader, options)) as Promise<T>
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async getOrLoadMany<T>(
    keys: readonly string[],
    loadMany: BatchLoader<T>,
    options?: CallOptions,
  ): Promise<(T | Error)[]> {
    return await loadTogether(keys, loadMany, (key, loader) => this.getOrLoad(key, loader, options))
  }

  async refresh<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    return (await this.#parts.calls.ask(this.#request('refresh', key, loader, options))) as T
  }

  /** As `getOrLoad`, for a key that was just read without success. */
  async load<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    const request = this.#request('getOrLoad', key, loader, options)
    return (await this.#parts.calls.ask(request, { state: 'nothing' })) as T
  }

  wrap<F extends Wrappable>(fn: F, options: WrapOptions<Parameters<F>>): Wrapped<F> {
    return this.#wraps.wrap(fn, options)
  }

  async peek<T = unknown>(key: string): Promise<Peeked<T>> {
    this.#checkOpen(checkedKey(key))
    const found = await this.#parts.reads.read(key, this.#plan.tags).catch((error: CacheError) => {
      throw withKey(key, error)
    })
    return toPeeked(found, this.#plan.grace)
  }

  async set(key: string, value: unknown, options?: SetOptions): Promise<void> {
    this.#checkOpen(checkedKey(key))
    await ledToCaller(this.#writes.set(key, value, options))
  }

  async invalidate(key: string): Promise<void> {
    this.#checkOpen(checkedKey(key))
    await ledToCaller(this.#writes.invalidate(key))
  }

  async invalidateTags(tags: readonly string[]): Promise<void> {
    const checked = checkedTags('tags', tags)
    this.#checkOpen()
    if (checked.length === 0) return
    const { keyspace, events } = this.#parts
    await ledToCaller(this.#writes.invalidateTags(keyspace.tagKeys(checked)))
    events.emit('invalidateTags', { tags: checked })
  }

  async invalidatePrefix(prefix: string): Promise<void> {
    const { keyspace, events } = this.#parts
    const tag = keyspace.prefixTag(prefix)
    this.#checkOpen()
    await ledToCaller(this.#writes.invalidateTags([tag]))
    events.emit('invalidatePrefix', { prefix })
  }

  async clear(): Promise<void> {
    await this.invalidatePrefix('')
  }

  async explain(key: string): Promise<Explanation> {
    this.#checkOpen(checkedKey(key))
    return await explainKey(key, this.#plan.grace, this.#parts)
  }

  leases(): AsyncIterable<HeldLease> {
    this.#checkOpen()
    return listLeases(this.#parts)
  }

  async breakLease(key: string, token: string): Promise<boolean> {
    this.#checkOpen(checkedKey(key))
    return await breakLease(key, token, this.#parts)
  }

  on<Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): () => void {
    return this.#parts.events.on(name, listener)
  }

  get events(): Events {
    return this.#parts.events
  }

  trace(tracer: Tracer): () => void {
    return this.#parts.tracing.follow(tracer)
  }

  stats(): CacheStats {
    return this.#parts.events.stats()
  }

  /** A cache for values of another kind; see `siblingOf`. */
  sibling(changes: SiblingChanges): Sibling {
    this.#checkOpen()
    const cache = new FleetCache(siblingPlan(this.#plan, changes), this.#backing, this)
    this.#siblings.push(cache)
    return new Sibling(cache, cache.#parts, this.#plan)
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const timeout = closeTimeout(options)
    return (this.#closing ??= this.#closeAll(timeout))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #ask(request: CallRequest): Promise<unknown> {
    const { flights, events, near, calls } = this.#parts
    const copy = near?.get(request.key)
    if (copy === undefined || near === null) return calls.ask(request)
    events.nearHit(request.key)
    flights.refreshAhead(request, near.aged(copy), copy.value)
    return Promise.resolve(answerOf(copy.value))
  }

  /** The checked request of a call. */
  #request<T>(who: 'getOrLoad' | 'refresh', key: string, loader: Loader<T>, options?: CallOptions): CallRequest {
    checkKey(key)
    checkLoader(key, loader)
    const { plan, tags, signal } = this.#plans.planOf(options, who)
    this.#checkOpen(key)
    signal?.throwIfAborted()
    const { causalNow, clock } = this.#parts
    const askedAt = causalNow()
    return { key, loader, plan, tags, signal, refresh: who === 'refresh', askedAt, askedAtMs: clock.now() }
  }

  async #closeAll(timeout: number): Promise<void> {
    await Promise.all([this, ...this.#siblings].map((cache) => cache.#end(timeout)))
    const { store } = this.#parts
    await store.drain()
    await store.close()
  }

  async #end(timeout: number): Promise<void> {
    this.#state = 'closing'
    this.#near = null
    await waitAtMost(timeout, this.#idle(), this.#parts.clock)
    this.#state = 'closed'
    await abandonAll(this.#parts)
  }

  /** Resolves when no call, flight or write is under way, including those that began meanwhile. */
  async #idle(): Promise<void> {
    const { flights, calls } = this.#parts
    do {
      await Promise.allSettled([flights.settled(), calls.settled(), ...this.#writes.open])
    } while (!calls.areOver || this.#writes.open.size > 0)
  }

  /**
   * Throws CLOSED, except for the calls of a loader while the cache closes: a loader that may end may also call the
   * cache.
   */
  #checkOpen(key?: string): void {
    if (this.#state === 'open' || (this.#state === 'closing' && currentLoad() !== null)) return
    throw closedError(key)
  }
}

/** Gives up everything that is under way in a cache. */
export async function abandonAll({ flights, calls, leaselessLoads, watchdog, near }: CacheParts): Promise<void> {
  flights.giveUp()
  leaselessLoads.giveUp()
  calls.giveUp()
  await flights.settled()
  flights.close()
  watchdog.close()
  near?.close()
}
