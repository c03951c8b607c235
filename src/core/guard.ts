import { Breaker } from './breaker.ts'
import type { Clock } from './clock.ts'
import { CacheError, closed, unavailable, type Failure } from './errors.ts'
import type { Events } from './events.ts'
import { KeptInvalidations } from './kept-invalidations.ts'
import { quietly } from './quietly.ts'
import type { Claim, ClaimRequest, Entry, Hear, Lease, NewValue, Store } from './store.ts'
import { UnderWay, type Command } from './under-way.ts'

/** The most leases whose release is made up for. */
const mostOwed = 10_000

/**
 * A store that answers in time, or rejects with STORE_UNAVAILABLE: a deadline on every command, and a breaker so that
 * a silent store costs that deadline once and not on every call. What it could not be told meanwhile is made up for
 * when it answers again: leases that were given up, and invalidations, if those are to be kept.
 *
 * Where keys live on several servers there is no breaker: the silence of one must not cost the others their leases.
 */
export class GuardedStore {
  readonly #store: Store
  readonly #timeout: number
  readonly #clock: Clock
  readonly #events: Events
  readonly #breaker: Breaker
  readonly #kept: KeptInvalidations
  readonly #keeps: boolean
  readonly #underWay: UnderWay
  readonly #owed = new Set<Lease>()
  #closed = false

  /**
   * @param options.timeout how long a command may take, in milliseconds
   * @param options.keeps whether an invalidation that fails is kept and replayed, instead of being rejected
   */
  constructor(store: Store, options: { timeout: number; keeps: boolean; clock: Clock; events: Events }) {
    const { timeout, keeps, clock, events } = options
    this.#store = store
    this.#timeout = timeout
    this.#keeps = keeps
    this.#clock = clock
    this.#events = events
    this.#underWay = new UnderWay(timeout, clock, (reject, before) => this.#expire(reject, before))
    this.#breaker = new Breaker({ ping: () => store.ping(), closes: () => this.#makeUp(), clock, events })
    const invalidate = (key: string): Promise<void> => this.#call(() => store.invalidate(key))
    this.#kept = new KeptInvalidations({ invalidate, clock, events })
  }

  /** Whether the store is silent at the moment. */
  get away(): boolean {
    return this.#breaker.open !== null
  }

  /** Why it is silent. */
  get silence(): CacheError | null {
    return this.#breaker.open
  }

  /** Whether an invalidation of a key is kept. */
  keeps(key: string): boolean {
    return this.#kept.why(key) !== undefined
  }

  /** What operators ask: of a key whose invalidation is kept, too. */
  ask<T>(run: (store: Store) => Promise<T>): Promise<T> {
    return this.#call(() => run(this.#store))
  }

  read(key: string, tags?: readonly string[]): Promise<Entry | null> {
    return this.#call(() => this.#store.read(key, tags), key)
  }

  /** The same for hits, where each promise counts: it is settled through the caller's own. */
  readInto(
    key: string,
    tags: readonly string[],
    now: number,
    resolve: (entry: Entry | null) => void,
    reject: (error: CacheError) => void,
  ): void {
    this.#start(() => this.#store.read(key, tags), resolve, reject, key, undefined, now)
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.#call(
      () => this.#store.claim(request),
      request.key,
      // Nobody is there any more to use the answer: a lease must not block its key, nor a wait be remembered for ever.
      (claim) => {
        if (claim.state === 'lease') quietly(this.#store.release(claim.lease))
        if (claim.state === 'wait') claim.leave()
      },
    )
  }

  fill(lease: Lease, value: NewValue): Promise<boolean> {
    return this.#call(() => this.#store.fill(lease, value))
  }

  fail(lease: Lease, failure: Failure, cooldown: number): Promise<boolean> {
    return this.#call(() => this.#store.fail(lease, failure, cooldown))
  }

  pass(lease: Lease, duration: number): Promise<boolean> {
    return this.#call(() => this.#store.pass(lease, duration))
  }

  /** A lease given up while the store is silent is released when it answers again: others need not wait for its end. */
  release(lease: Lease): Promise<boolean> {
    if (this.away && this.#owed.size < mostOwed) this.#owed.add(lease)
    return this.#call(() => this.#store.release(lease))
  }

  renew(leases: readonly Lease[]): Promise<boolean>[] {
    if (this.away) return leases.map(() => this.#call(() => Promise.resolve(false)))
    return this.#store.renew(leases).map((answer) => this.#call(() => answer))
  }

  async set(key: string, token: string, value: NewValue): Promise<void> {
    const kept = this.#kept.why(key)
    await this.#call(() => this.#store.set(key, token, value, this.#timeout))
    this.#kept.forget(key, kept)
  }

  async invalidate(key: string): Promise<void> {
    const kept = this.#kept.why(key)
    try {
      await this.#call(() => this.#store.invalidate(key))
      this.#kept.forget(key, kept)
    } catch (error) {
      if (!this.#keeps || this.#closed || !this.#kept.keep(key, error as CacheError)) throw error
    }
  }

  /** Is not kept when it fails: which keys nobody may read then, nobody knows. */
  invalidateTags(tags: readonly string[]): Promise<void> {
    return this.#call(() => this.#store.invalidateTags(tags))
  }

  open(): void {
    this.#store.open(this.#hear)
  }

  /** Tries the invalidations that are kept once more; resolves when they have been carried out, or not. */
  async replay(): Promise<void> {
    if (this.#kept.count > 0) await this.#kept.replay()
  }

  /** Rejects with STORE_UNAVAILABLE, when all is closed, if invalidations that were kept have not been carried out. */
  async close(): Promise<void> {
    this.#closed = true
    this.#breaker.stop()
    this.#kept.stop()
    this.#underWay.close()
    await this.#store.close(this.#hear)
    const { count } = this.#kept
    if (count === 0) return
    throw new CacheError(
      'STORE_UNAVAILABLE',
      `The cache is closed, and ${count} kept invalidations were not carried out`,
    )
  }

  /** @param key which key is read or claimed, if one is: not one whose invalidation the store has yet to be told */
  #call<T>(run: () => Promise<T>, key?: string, late?: (value: T) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => this.#start(run, resolve, reject, key, late))
  }

  #start<T>(
    run: () => Promise<T>,
    resolve: (value: T) => void,
    reject: (error: CacheError) => void,
    key?: string,
    late?: (value: T) => void,
    since = this.#clock.now(),
  ): void {
    if (this.#closed) return reject(closed())
    const refusal = this.#breaker.open ?? (key === undefined ? undefined : this.#kept.why(key))
    if (refusal !== undefined) return reject(refusal)
    const command: Command = { since, before: this.#breaker.answers, reject }
    this.#underWay.begin(command)
    attempt(run).then(
      (value) => {
        this.#breaker.answered()
        if (this.#underWay.end(command)) resolve(value)
        else late?.(value)
      },
      (cause: unknown) => {
        if (!this.#underWay.end(command)) return
        const error = unavailable(cause)
        this.#events.emit('storeFailure', { error })
        reject(error)
      },
    )
  }

  #expire(reject: (error: CacheError) => void, before: number): void {
    if (this.#closed) return reject(closed())
    const error = new CacheError('STORE_UNAVAILABLE', `The store did not answer within ${this.#timeout} ms`)
    this.#events.emit('storeFailure', { error })
    reject(error)
    if (this.#breaker.answers === before && !this.#store.sharded) this.#breaker.trip(error)
  }

  readonly #hear: Hear = (pushed) => this.#events.emit('push', { up: pushed })

  /** The store is back: what it could not be told. */
  #makeUp(): void {
    for (const lease of this.#owed) quietly(this.#store.release(lease))
    this.#owed.clear()
    void this.replay()
  }
}

/** A store of the user's may throw where it should reject. */
function attempt<T>(run: () => Promise<T>): Promise<T> {
  try {
    return run()
  } catch (error) {
    return Promise.reject(error)
  }
}
