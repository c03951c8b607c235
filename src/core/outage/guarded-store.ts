import { CircuitBreaker } from './circuit-breaker.ts'
import type { Clock } from '../time/clock.ts'
import { CacheError, closedError, unavailableError, type Failure, ignoreRejection } from '../errors.ts'
import type { Events } from '../observe/events.ts'
import { PendingInvalidations } from './pending-invalidations.ts'
import { OwnLeases } from './own-leases.ts'
import type { Claim, ClaimRequest, Entry, Lease, LeaseName, NewValue, Store, StoreUser } from '../contract/store.ts'
import { InFlightCommands, type Command } from '../time/deadline.ts'

/** Settles the promise of a caller. */
export interface Settle<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: CacheError) => void
}

/** What is known of a command that is sent. */
interface CommandAbout<T> {
  /** Which key is read or claimed, if one is: not one whose invalidation the store has yet to be told. */
  readonly key?: string | undefined
  /** Is given an answer that comes after the deadline. */
  readonly late?: ((value: T) => void) | undefined
  /** When it is sent, by the clock. */
  readonly since?: number
}

/**
 * A store that answers in time, or rejects with STORE_UNAVAILABLE: a deadline on every command, and a breaker so that
 * a silent store costs that deadline once and not on every call. What it could not be told is made up for: the release of
 * leases whose load has ended, and invalidations, if those are to be kept.
 *
 * Where keys live on several servers there is no breaker: the silence of one must not cost the others their leases.
 */
export class GuardedStore {
  readonly #store: Store
  readonly #timeout: number
  readonly #clock: Clock
  readonly #events: Events
  readonly #breaker: CircuitBreaker
  readonly #kept: PendingInvalidations
  readonly #keeps: boolean
  readonly #underWay: InFlightCommands
  readonly #leases: OwnLeases
  /** Ends of loads that are under way. */
  readonly #endings = new Set<Promise<unknown>>()
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
    this.#underWay = new InFlightCommands(timeout, clock, (reject, before) => this.#expire(reject, before))
    this.#breaker = new CircuitBreaker({ ping: () => store.ping(), closes: () => this.#makeUp(), clock, events })
    const invalidate = (key: string): Promise<void> => this.#call(() => store.invalidate(key))
    this.#kept = new PendingInvalidations({ invalidate, clock, events })
    const release = (lease: LeaseName): Promise<boolean> => this.#release(lease)
    this.#leases = new OwnLeases({ release, sharded: store.sharded, clock })
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

  /** The same for hits, where each promise counts: it settles the promise of the caller. @param since now, by the clock */
  readInto(key: string, tags: readonly string[], since: number, caller: Settle<Entry | null>): void {
    this.#start(() => this.#store.read(key, tags), caller, { key, since })
  }

  /** A token for a new load or value. */
  newToken(): string {
    return this.#leases.newToken()
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const claim = await this.#claim(request)
    if (claim.state !== 'wait' || !this.#leases.isOver(claim.token)) return claim
    // It is ours, and its load has ended.
    claim.leave()
    await this.#leases.cameBack({ key: request.key, token: claim.token })
    return await this.#claim(request)
  }

  fill(lease: Lease, value: NewValue): Promise<boolean> {
    return this.#end(lease, () => this.#store.fill(lease, value))
  }

  fail(lease: Lease, failure: Failure, cooldown: number): Promise<boolean> {
    return this.#end(lease, () => this.#store.fail(lease, failure, cooldown))
  }

  pass(lease: Lease, duration: number): Promise<boolean> {
    return this.#end(lease, () => this.#store.pass(lease, duration))
  }

  /** Gives a lease up, again and again until the store has answered; resolves with what came of the first attempt. */
  release(lease: LeaseName & { readonly ttl: number }): Promise<boolean> {
    return this.#ending(this.#leases.giveBack(lease))
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
    this.#store.open(this.#user)
  }

  /** Waits for the ends of loads, then tries once more what the store could not be told: once closed, it is told nothing. */
  async settle(): Promise<void> {
    while (this.#endings.size > 0) await Promise.allSettled(this.#endings)
    await Promise.all([this.#leases.settled(), this.#kept.count > 0 ? this.#kept.replay() : null])
  }

  /** Rejects with STORE_UNAVAILABLE, when all is closed, if invalidations that were kept have not been carried out. */
  async close(): Promise<void> {
    this.#closed = true
    this.#breaker.stop()
    this.#kept.stop()
    this.#leases.close()
    this.#underWay.close()
    await this.#store.close(this.#user)
    const { count } = this.#kept
    if (count === 0) return
    throw new CacheError(
      'STORE_UNAVAILABLE',
      `The cache is closed, and ${count} kept invalidations were not carried out`,
    )
  }

  async #claim(request: ClaimRequest): Promise<Claim> {
    const { key, token, leaseTtl: ttl } = request
    const run = async (): Promise<Claim> => {
      this.#leases.begin(token)
      try {
        const claim = await this.#store.claim(request)
        if (claim.state !== 'lease') this.#leases.end(token)
        return claim
      } catch (error) {
        // Its answer may have been lost, or be on its way to nobody.
        if (this.#store.refused?.(error)) this.#leases.end(token)
        else ignoreRejection(this.release({ key, token, ttl }))
        throw error
      }
    }
    // Nobody is there any more to use the answer: a lease must not block its key, nor a wait be remembered for ever.
    const late = (claim: Claim): void => {
      if (claim.state === 'lease') ignoreRejection(this.release(claim.lease))
      if (claim.state === 'wait') claim.leave()
    }
    try {
      return await this.#call(run, key, late)
    } catch (error) {
      // It has not been answered, and perhaps never will be: some clients forget what they had sent on a broken connection.
      if (!this.#closed && this.#leases.isLive(token)) ignoreRejection(this.release({ key, token, ttl }))
      throw error
    }
  }

  /** Ends a load; where it is not known how that went, its lease is given back. */
  #end(lease: Lease, run: () => Promise<boolean>): Promise<boolean> {
    const end = async (): Promise<boolean> => {
      try {
        const accepted = await this.#call(run)
        this.#leases.ended(lease)
        return accepted
      } catch (error) {
        ignoreRejection(this.release(lease))
        throw error
      }
    }
    return this.#ending(end())
  }

  #ending(end: Promise<boolean>): Promise<boolean> {
    this.#endings.add(end)
    ignoreRejection(end.finally(() => this.#endings.delete(end)))
    return end
  }

  /** An answer that comes when all is closed may bring a lease. */
  #release(lease: LeaseName): Promise<boolean> {
    return this.#closed ? this.#store.release(lease) : this.#call(() => this.#store.release(lease))
  }

  #call<T>(run: () => Promise<T>, key?: string, late?: (value: T) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => this.#start(run, { resolve, reject }, { key, late }))
  }

  #start<T>(
    run: () => Promise<T>,
    { resolve, reject }: Settle<T>,
    { key, late, since = this.#clock.now() }: CommandAbout<T>,
  ): void {
    if (this.#closed) return reject(closedError())
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
        const error = unavailableError(cause)
        this.#events.emit('storeFailure', { error })
        reject(error)
      },
    )
  }

  #expire(reject: (error: CacheError) => void, before: number): void {
    if (this.#closed) return reject(closedError())
    const error = new CacheError('STORE_UNAVAILABLE', `The store did not answer within ${this.#timeout} ms`)
    this.#events.emit('storeFailure', { error })
    reject(error)
    if (this.#breaker.answers === before && !this.#store.sharded) this.#breaker.trip(error)
  }

  readonly #user: StoreUser = {
    pushed: (up) => this.#events.emit('push', { up }),
    mayHaveForgotten: () => this.#leases.giveBackAgain(),
    awaited: (lease) => {
      if (this.#leases.isOver(lease.token)) void this.#leases.cameBack(lease)
    },
  }

  /** The store is back: what it could not be told, and what it may have forgotten. */
  #makeUp(): void {
    this.#leases.giveBackAgain()
    void this.#kept.replay()
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
