/*
 * Room: cache. The public cache, made of the parts of all other rooms.
 *
 * Reading order: cache.ts (the public interface), fleet-cache.ts (near hits; what a call asks for), then the flights of
 * core/flight; writes.ts (set and invalidate), assembly.ts (how the parts fit together). Then the extras: many.ts,
 * wrap.ts, explain.ts, sibling.ts (a cache for responses beside a cache of the user), rehearsal.ts (`mode: 'observe'`),
 * begin.ts (a load in two halves) and open-cache.ts.
 */
import type { DefinedBy, Definition, KeyMaker, Loaded, Peeked, Wrappable, Wrapped, WrapOptions } from './cache.ts'
import { currentLoad } from '../flight/circular-load.ts'
import { waitAtMost } from '../time/deadline.ts'
import { closedError, isError } from '../errors.ts'
import type { Given, MaybeSchema, Taken } from '../codec/schema.ts'
import type { CacheEvents, Events } from '../observe/events.ts'
import { explainKey, type Explanation, breakLease, listLeases, type HeldLease } from './explain.ts'
import { checkedKey, checkKey, checkKeys } from '../entry/key.ts'
import { answerOf } from '../codec/error-answer.ts'
import { ledToCaller } from '../codec/load-failures.ts'
import { Answers } from '../flight/answers.ts'
import { Caller, noWishes } from '../flight/caller.ts'
import { checkLoader, type Loader } from '../flight/loader.ts'
import { migrating } from '../flight/migration.ts'
import type { AnswerFacts } from '../entry/freshness.ts'
import { LeadQuestion, type Begun } from './begin.ts'
import { loadedOf, loadTogether, type BatchLoader } from './many.ts'
import type { Near } from '../near/near.ts'
import type {
  CallOptions,
  CloseOptions,
  ExpireOptions,
  InvalidateOptions,
  PeekOptions,
  SetOptions,
  ValueOptions,
  VersionOptions,
} from '../options/options.ts'
import type { ReadResult } from '../flight/reads.ts'
import { CallPlans, type Verb } from '../options/call-plans.ts'
import { checkedMode, closeTimeout, expiryOf, refineKind, siblingPlan, type CachePlan } from '../options/plan.ts'
import { Sibling, type Elder, type SiblingChanges } from './sibling.ts'
import type { Invalidation, Store } from '../contract/store.ts'
import type { Mode } from '../contract/mode.ts'
import type { CacheStats } from '../observe/counters.ts'
import type { Tracer } from '../observe/tracing.ts'
import { assemble, endParts, idleParts, type CacheParts } from './assembly.ts'
import { Writes } from './writes.ts'
import { Wraps } from './wrap.ts'

/** The cache with single flight across the fleet. */
export class FleetCache implements Elder {
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

  /** @param isSibling whether another cache opens and closes the store */
  constructor(plan: CachePlan, backing: Store, parts: CacheParts, isSibling = false) {
    this.#plan = plan
    this.#backing = backing
    this.#parts = parts
    this.#plans = new CallPlans(plan, isSibling ? undefined : (ttl) => this.events.ttlGiven(ttl))
    this.#wraps = new Wraps(this, plan, this.#plans)
    this.#near = plan.refreshAhead === null ? this.#parts.near : null
    this.#writes = new Writes(plan, this.#parts)
    if (!isSibling) this.#parts.store.open()
  }

  getOrLoad<T extends Taken<S>, S extends MaybeSchema = undefined>(
    key: string,
    loader: Loader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Given<S, T>> {
    try {
      const answer = this.#nearAnswer(key, loader, options)
      return (answer ?? this.#ask(this.#caller('getOrLoad', key, loader, options))) as Promise<Given<S, T>>
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async getOrLoadMany<T extends Taken<S>, S extends MaybeSchema = undefined>(
    keys: readonly string[],
    loadMany: BatchLoader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<(Given<S, T> | Error)[]> {
    return await loadTogether(keys, loadMany, (loader) => this.#askMany(keys, loader, options, false))
  }

  async getOrLoadEntry<T extends Taken<S>, S extends MaybeSchema = undefined>(
    key: string,
    loader: Loader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Loaded<Given<S, T>>> {
    return await this.#askForEntry(this.#caller('getOrLoad', key, loader, options))
  }

  async begin<T = unknown, S extends MaybeSchema = undefined>(
    key: string,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Begun<Given<S, T>, S extends undefined ? T : Taken<S>>> {
    const { callers, events, clock } = this.#parts
    const question = new LeadQuestion(
      () => this.mode === 'observe' || callers.lead(caller),
      (error) => events.emit('failure', { key, error, duration: clock.now() - caller.askedAtMs }),
    )
    const caller = this.#caller('begin', key, question.loader, options)
    caller.wishes = { ...noWishes, beginning: question }
    return (await question.answer(() => this.#askForEntry(caller))) as Begun<Given<S, T>, never>
  }

  async getOrLoadEntries<T extends Taken<S>, S extends MaybeSchema = undefined>(
    keys: readonly string[],
    loadMany: BatchLoader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<(Loaded<Given<S, T>> | Error)[]> {
    const answers = await loadTogether<T, Loaded<Given<S, T>>>(keys, loadMany, (loader) => {
      return this.#askMany(keys, loader, options, true)
    })
    return answers.map((answer) => (isError(answer) ? answer : loadedOf(answer, this.#parts.keyspace)))
  }

  async refresh<T extends Taken<S>, S extends MaybeSchema = undefined>(
    key: string,
    loader: Loader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Given<S, T>> {
    return (await this.#answer(this.#caller('refresh', key, loader, options))) as Given<S, T>
  }

  /** As `getOrLoad`, for a key that was just read without success. */
  async load<T extends Taken<S>, S extends MaybeSchema = undefined>(
    key: string,
    loader: Loader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Given<S, T>> {
    return (await this.#answer(this.#caller('getOrLoad', key, loader, options), { state: 'nothing' })) as Given<S, T>
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

  async peek<T = unknown>(key: string, options?: PeekOptions<T>): Promise<Peeked<T>> {
    const found = await this.look<T>(key, options)
    return found.state === 'stale' ? { ...found, ttl: 0 } : found
  }

  /** As `peek`, with a `ttl` below zero for a stale value. */
  async look<T>(key: string, options?: PeekOptions<T>): Promise<Peeked<T>> {
    this.#checkOpen(checkedKey(key))
    const plan = refineKind(this.#plan, options, 'peek')
    if (this.mode !== 'cache') return { state: 'missing' }
    return (await this.#parts.reads.peek({ key, plan, tags: this.#plan.tags }, this.#plan.grace)) as Peeked<T>
  }

  async peekMany<T = unknown>(keys: readonly string[], options?: PeekOptions<T>): Promise<(Peeked<T> | Error)[]> {
    checkKeys(keys)
    refineKind(this.#plan, options, 'peekMany')
    return await Promise.all(keys.map((key) => this.peek<T>(key, options).catch((error: Error) => error)))
  }

  async set(key: string, value: unknown, options?: SetOptions): Promise<void> {
    await this.#write((writes) => writes.set(key, value, options), checkedKey(key))
  }

  async invalidate(keys: string | readonly string[], options?: VersionOptions): Promise<void> {
    await this.#invalidate(keys, 'hard', options)
  }

  async expire(keys: string | readonly string[], options?: ExpireOptions): Promise<void> {
    await this.#invalidate(keys, ...expiryOf(options))
  }

  async invalidateTags(tags: readonly string[], options?: InvalidateOptions): Promise<void> {
    await this.#write((writes) => writes.invalidateTags(tags, options))
  }

  async invalidatePrefix(prefix: string, options?: InvalidateOptions): Promise<void> {
    await this.#write((writes) => writes.invalidatePrefix(prefix, options))
  }

  async clear(options?: InvalidateOptions): Promise<void> {
    await this.#write((writes) => writes.clear(options))
  }

  async explain(key: string, options?: VersionOptions): Promise<Explanation> {
    this.#checkOpen(checkedKey(key))
    const { version } = refineKind(this.#plan, options, 'explain')
    return await explainKey(key, { version, grace: this.#plan.grace }, this.#parts)
  }

  leases(): AsyncIterable<HeldLease> {
    this.#checkOpen()
    return listLeases(this.#parts)
  }

  async breakLease(key: string, token: string, options?: VersionOptions): Promise<boolean> {
    this.#checkOpen(checkedKey(key))
    const { version } = refineKind(this.#plan, options, 'breakLease')
    return await breakLease(key, token, version, this.#parts)
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
    return this.#parts.events.stats(this.mode)
  }

  get mode(): Mode {
    return this.#parts.modes.current
  }

  set mode(mode: Mode) {
    this.#parts.modes.own = checkedMode('cache.mode', mode) as Mode
  }

  /** A cache for values of another kind; see `siblingOf`. */
  sibling(changes: SiblingChanges): Sibling {
    this.#checkOpen()
    const plan = siblingPlan(this.#plan, changes)
    const cache = new FleetCache(plan, this.#backing, assemble(plan, this.#backing, this.#parts), true)
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

  async #invalidate(keys: string | readonly string[], how: Invalidation, options?: VersionOptions): Promise<void> {
    const all = Array.isArray(keys) ? keys.map(checkedKey) : [checkedKey(keys)]
    await this.#write((writes) => writes.invalidate(all, how, options), all.length === 1 ? all[0] : undefined)
  }

  /** Writes; in a rehearsal as well, if there is one. */
  async #write(run: (writes: Writes) => Promise<void>, key?: string): Promise<void> {
    this.#checkOpen(key)
    const rehearsed = this.mode === 'observe' ? this.#parts.rehearsal?.write(run) : undefined
    await ledToCaller(Promise.all([run(this.#writes), rehearsed]).then(() => undefined))
  }

  /** The shortest path: a near hit of a call that needs no check; `undefined` for any other. */
  #nearAnswer(key: string, loader: unknown, options: CallOptions | undefined): Promise<unknown> | undefined {
    const near = this.#near
    const kind = near !== null && typeof loader === 'function' ? this.#plans.kindOfCopies(options) : null
    const answer = near === null || kind === null ? undefined : near.answer(key, kind)
    if (answer !== undefined) this.#parts.events.nearHit(key)
    return answer
  }

  #ask(caller: Caller): Promise<unknown> {
    const { flights, events, near } = this.#parts
    const copy = near?.get(caller.key, caller.plan)
    if (copy === undefined || near === null) return this.#answer(caller)
    events.nearHit(caller.key)
    flights.refreshAhead(caller, near.aged(copy), copy.value)
    const answer = answerOf(copy.value)
    return Promise.resolve(caller.wantsFacts ? { value: answer, ...near.factsOf(copy) } : answer)
  }

  /** @param wantsFacts whether the answers are entries */
  async #askMany<T>(
    keys: readonly string[],
    loader: Loader<T>,
    options: CallOptions | undefined,
    wantsFacts: boolean,
  ): Promise<PromiseSettledResult<unknown>[]> {
    const wishes = { ...noWishes, batch: {}, facts: wantsFacts }
    const callerOf = (key: string): Caller => {
      const caller = this.#caller('getOrLoad', key, loader, options)
      caller.wishes = wishes
      return caller
    }
    const ask = (key: string): Promise<unknown> =>
      (wantsFacts ? undefined : this.#nearAnswer(key, loader, options)) ?? this.#ask(callerOf(key))
    if (this.#isOpen && this.#parts.near === null && this.mode !== 'observe') {
      return await this.#parts.callers.askMany(keys.map(callerOf))
    }
    return await Answers.of(keys, ask)
  }

  /** @param read what it has read already */
  #answer(caller: Caller, read?: ReadResult): Promise<unknown> {
    const { callers, rehearsal } = this.#parts
    return this.mode === 'observe' && rehearsal !== undefined ? rehearsal.ask(caller) : callers.ask(caller, read)
  }

  async #askForEntry<T>(caller: Caller): Promise<Loaded<T>> {
    caller.wishes = { ...caller.wishes, facts: true }
    return loadedOf((await this.#ask(caller)) as AnswerFacts & { value: T }, this.#parts.keyspace)
  }

  /** The caller of a checked call. */
  #caller<T>(who: Verb, key: string, loader: Loader<T>, options?: CallOptions): Caller {
    checkKey(key)
    checkLoader(key, loader)
    const call = this.#plans.planOf(options, who)
    this.#checkOpen(key)
    call.signal?.throwIfAborted()
    const { causalNow, clock } = this.#parts
    const refresh = who === 'refresh'
    const own = refresh || call.plan.migrate.length === 0 ? loader : migrating(loader, call, this.#parts)
    return new Caller(key, own, call, { refresh, at: causalNow(), ms: clock.now() })
  }

  async #closeAll(timeout: number): Promise<void> {
    const { store, events, sources, rehearsal } = this.#parts
    events.endWatch()
    await Promise.all([this, ...this.#siblings].map((cache) => cache.#end(timeout)))
    await rehearsal?.close()
    await sources.close()
    await store.drain()
    await store.close()
  }

  async #end(timeout: number): Promise<void> {
    this.#state = 'closing'
    this.#near = null
    await waitAtMost(timeout, idleParts(this.#parts, this.#writes.open), this.#parts.clock)
    this.#state = 'closed'
    await endParts(this.#parts)
  }

  /** Whether a call may begin; while the cache closes, one of a loader: a loader that may end may also call the cache. */
  get #isOpen(): boolean {
    return this.#state === 'open' || (this.#state === 'closing' && currentLoad() !== null)
  }

  /** @throws `CacheError` CLOSED */
  #checkOpen(key?: string): void {
    if (!this.#isOpen) throw closedError(key)
  }
}
