import type { Cache, Peeked, Wrappable, Wrapped, WrapOptions } from './cache.ts'
import { currentLoad, type LoadNode } from '../load/circular-load.ts'
import { closedError, ignoreRejection } from '../errors.ts'
import type { CacheEvents } from '../observe/events.ts'
import type { Explanation, HeldLease } from './explain.ts'
import { checkKey } from '../entry/key.ts'
import type { FleetCache } from './fleet-cache.ts'
import { checkLoader, runLoader, valueOf, type LoadContext, type LoadRun, type Loader } from '../load/loader.ts'
import { answerOf, errorForCallers } from '../load/failures.ts'
import { loadTogether, type BatchLoader } from './many.ts'
import type { CallOptions, CloseOptions, SetOptions } from '../options/options.ts'
import { PendingAnswer } from './pending-answer.ts'
import { CallPlans, type CachePlan } from '../options/plan.ts'
import type { CacheStats } from '../observe/counters.ts'
import { Sibling } from './sibling.ts'
import type { Tracer } from '../observe/tracing.ts'
import { Wraps } from './wrap.ts'

/**
 * A cache that changes nothing: each call runs its loader, without a store. Beside it, a shadow cache in the memory of
 * this process receives the same calls with placeholder values, and its statistics show the effect that a cache would
 * have.
 */
export class ObservingCache implements Cache {
  readonly #plan: CachePlan
  readonly #shadow: FleetCache
  readonly #plans: CallPlans
  readonly #wraps: Wraps
  #closed = false

  /** @param shadow receives only placeholders */
  constructor(plan: CachePlan, shadow: FleetCache) {
    this.#plan = plan
    this.#shadow = shadow
    this.#plans = new CallPlans(plan)
    this.#wraps = new Wraps(this, plan, this.#plans)
  }

  async getOrLoad<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    return (await this.#ask('getOrLoad', key, loader, options)) as T
  }

  load<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    return this.getOrLoad(key, loader, options)
  }

  async refresh<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    return (await this.#ask('refresh', key, loader, options)) as T
  }

  async getOrLoadMany<T>(
    keys: readonly string[],
    loadMany: BatchLoader<T>,
    options?: CallOptions,
  ): Promise<(T | Error)[]> {
    return await loadTogether(keys, loadMany, (key, loader) => this.getOrLoad(key, loader, options))
  }

  wrap<F extends Wrappable>(fn: F, options: WrapOptions<Parameters<F>>): Wrapped<F> {
    return this.#wraps.wrap(fn, options)
  }

  /** The observing cache never has a value. */
  async peek<T = unknown>(key: string): Promise<Peeked<T>> {
    await this.#shadow.peek(key)
    return { state: 'missing' }
  }

  async set(key: string, value: unknown, options?: SetOptions): Promise<void> {
    await this.#shadow.set(key, markOf(value), options)
  }

  invalidate(key: string): Promise<void> {
    return this.#shadow.invalidate(key)
  }

  invalidateTags(tags: readonly string[]): Promise<void> {
    return this.#shadow.invalidateTags(tags)
  }

  invalidatePrefix(prefix: string): Promise<void> {
    return this.#shadow.invalidatePrefix(prefix)
  }

  clear(): Promise<void> {
    return this.#shadow.clear()
  }

  explain(key: string): Promise<Explanation> {
    return this.#shadow.explain(key)
  }

  leases(): AsyncIterable<HeldLease> {
    return this.#shadow.leases()
  }

  breakLease(key: string, token: string): Promise<boolean> {
    return this.#shadow.breakLease(key, token)
  }

  on<Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): () => void {
    return this.#shadow.on(name, listener)
  }

  trace(tracer: Tracer): () => void {
    return this.#shadow.trace(tracer)
  }

  stats(): CacheStats {
    return this.#shadow.stats()
  }

  /** A cache for values of another kind; see `siblingOf`. */
  sibling(): Sibling {
    return new Sibling(this, { events: this.#shadow.events, near: null, store: { unavailable: true } }, this.#plan)
  }

  close(options?: CloseOptions): Promise<void> {
    this.#closed = true
    return this.#shadow.close(options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #ask(
    verb: 'getOrLoad' | 'refresh',
    key: string,
    loader: Loader<unknown>,
    options?: CallOptions,
  ): Promise<unknown> {
    checkKey(key)
    checkLoader(key, loader)
    const { plan, tags, signal } = this.#plans.planOf(options, verb)
    if (this.#closed) throw closedError(key)
    signal?.throwIfAborted()
    const { clock } = this.#plan
    const lost = new Promise<never>(() => undefined)
    const node: LoadNode = { key, cache: this, parent: currentLoad(), waitsFor: new Set(), running: true }
    const loaded = runLoader({ key, loader, plan, tags, clock, node, fence: null, stale: null, lost })
    const { signal: _, ...rest } = options ?? {}
    // The caller's own load reports its error; the shadow's copy of it has no consumer.
    ignoreRejection(this.#shadow[verb](key, (context) => mark(loaded, context), rest))
    const patience = new PendingAnswer({ clock, since: clock.now(), signal })
    loaded
      .then(valueOf)
      .then(answerOf)
      .then(
        (value) => patience.resolve(value),
        (error: unknown) => patience.reject(errorForCallers(error)),
      )
    return await patience.answer
  }
}

/** Repeats the end of a load with a placeholder for its value. */
async function mark(loaded: Promise<LoadRun>, context: LoadContext): Promise<unknown> {
  const ended = await loaded
  if (ended.state === 'pass') context.doNotStore(ended.passFor)
  if (ended.state === 'value') {
    context.ttl(ended.ttl)
    context.grace(ended.grace)
    context.tags(...ended.tags)
  }
  return markOf(valueOf(ended))
}

/** `null` and `undefined` stay themselves, because they may have their own ttls. */
function markOf(value: unknown): unknown {
  return value === null || value === undefined ? value : true
}
