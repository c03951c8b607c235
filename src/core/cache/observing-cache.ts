import type { Cache, DefinedBy, Definition, KeyMaker, Peeked, Wrappable, Wrapped, WrapOptions } from './cache.ts'
import { Deadlines } from '../time/deadlines.ts'
import { currentLoad, type LoadNode } from '../flight/circular-load.ts'
import { closedError, ignoreRejection } from '../errors.ts'
import type { Given, MaybeSchema, Taken } from '../codec/schema.ts'
import type { CacheEvents } from '../observe/events.ts'
import type { Explanation, HeldLease } from './explain.ts'
import { checkKey } from '../entry/key.ts'
import type { FleetCache } from './fleet-cache.ts'
import { checkLoader, runLoader, type LoadContext, type LoadRun, type Loader } from '../flight/loader.ts'
import { Loss } from '../flight/loss.ts'
import { answerOf } from '../codec/error-answer.ts'
import { errorForCallers } from '../codec/load-failures.ts'
import { loadTogether, type BatchLoader } from './many.ts'
import type {
  CallOptions,
  CloseOptions,
  InvalidateOptions,
  PeekOptions,
  SetOptions,
  ValueOptions,
  VersionOptions,
} from '../options/options.ts'
import { CallPlans } from '../options/call-plans.ts'
import type { CachePlan } from '../options/plan.ts'
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
  readonly #deadlines: Deadlines
  #closed = false

  /** @param shadow receives only placeholders */
  constructor(plan: CachePlan, shadow: FleetCache) {
    this.#plan = plan
    this.#shadow = shadow
    this.#deadlines = new Deadlines(plan.clock, 'background')
    this.#plans = new CallPlans(plan)
    this.#wraps = new Wraps(this, plan, this.#plans)
  }

  async getOrLoad<T extends Taken<S>, S extends MaybeSchema = undefined>(
    key: string,
    loader: Loader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Given<S, T>> {
    return (await this.#ask('getOrLoad', key, loader, options)) as Given<S, T>
  }

  load<T extends Taken<S>, S extends MaybeSchema = undefined>(
    key: string,
    loader: Loader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Given<S, T>> {
    return this.getOrLoad(key, loader, options)
  }

  async refresh<T extends Taken<S>, S extends MaybeSchema = undefined>(
    key: string,
    loader: Loader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Given<S, T>> {
    return (await this.#ask('refresh', key, loader, options)) as Given<S, T>
  }

  async getOrLoadMany<T extends Taken<S>, S extends MaybeSchema = undefined>(
    keys: readonly string[],
    loadMany: BatchLoader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<(Given<S, T> | Error)[]> {
    return await loadTogether(keys, loadMany, (loader) =>
      Promise.allSettled(keys.map((key) => this.getOrLoad(key, loader, options))),
    )
  }

  wrap<F extends Wrappable, S extends MaybeSchema = undefined>(
    fn: F,
    options: WrapOptions<Parameters<F>, S>,
  ): Wrapped<F, Given<S, Awaited<ReturnType<F>>>> {
    return this.#wraps.wrap(fn, options)
  }

  define<Key extends KeyMaker, T extends Taken<S>, S extends MaybeSchema = undefined>(
    definition: Definition<Parameters<Key>, T, S> & { readonly key: Key },
  ): DefinedBy<Parameters<Key>, T, S> {
    return this.#wraps.define(definition)
  }

  /** The observing cache never has a value. */
  async peek<T = unknown>(key: string, options?: PeekOptions<T>): Promise<Peeked<T>> {
    await this.#shadow.peek(key, options)
    return { state: 'missing' }
  }

  look<T>(key: string): Promise<Peeked<T>> {
    return this.peek(key)
  }

  async set(key: string, value: unknown, options?: SetOptions): Promise<void> {
    await this.#shadow.set(key, markOf(value), ofPlaceholders(options))
  }

  invalidate(keys: string | readonly string[], options?: VersionOptions): Promise<void> {
    return this.#shadow.invalidate(keys, options)
  }

  expire(keys: string | readonly string[], options?: VersionOptions): Promise<void> {
    return this.#shadow.expire(keys, options)
  }

  invalidateTags(tags: readonly string[], options?: InvalidateOptions): Promise<void> {
    return this.#shadow.invalidateTags(tags, options)
  }

  invalidatePrefix(prefix: string, options?: InvalidateOptions): Promise<void> {
    return this.#shadow.invalidatePrefix(prefix, options)
  }

  clear(options?: InvalidateOptions): Promise<void> {
    return this.#shadow.clear(options)
  }

  explain(key: string, options?: VersionOptions): Promise<Explanation> {
    return this.#shadow.explain(key, options)
  }

  leases(): AsyncIterable<HeldLease> {
    return this.#shadow.leases()
  }

  breakLease(key: string, token: string, options?: VersionOptions): Promise<boolean> {
    return this.#shadow.breakLease(key, token, options)
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
    options?: CallOptions & ValueOptions,
  ): Promise<unknown> {
    checkKey(key)
    checkLoader(key, loader)
    const { plan, tags, signal } = this.#plans.planOf(options, verb)
    if (this.#closed) throw closedError(key)
    signal?.throwIfAborted()
    const { clock } = this.#plan
    const deadlines = this.#deadlines
    const node: LoadNode = { key, cache: this, parent: currentLoad(), waitsFor: new Set(), running: true }
    const loaded = runLoader({
      key,
      loader,
      plan,
      tags,
      clock,
      node,
      deadlines,
      fence: null,
      stale: null,
      loss: new Loss(),
    })
    const { signal: _, ...rest } = ofPlaceholders(options) ?? {}
    // The caller's own load reports its error; the shadow's copy of it has no consumer.
    ignoreRejection(this.#shadow[verb](key, (context) => mark(loaded, context), rest))
    const answer = loaded.then(valueOf).then(answerOf)
    const aborted = new Promise<never>((_never, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    return await Promise.race([answer, aborted]).catch((error: unknown) => {
      throw errorForCallers(error)
    })
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

/** The options of a call whose value becomes a placeholder, which passes no schema. */
function ofPlaceholders<T extends object>(options: T | undefined): T | undefined {
  if (options === undefined) return undefined
  const { schema: _, migrate: _migrate, ...rest } = options as T & { schema?: unknown; migrate?: unknown }
  return rest as T
}

/** `null` and `undefined` stay themselves, because they may have their own ttls. */
function markOf(value: unknown): unknown {
  return value === null || value === undefined ? value : true
}

/** The value of a load; throws its error if it has none. */
function valueOf(loaded: LoadRun): unknown {
  if (loaded.state === 'failed' || loaded.state === 'lost') throw loaded.error
  return loaded.value
}
