/*
 * Room: guard. Stands between a cache and its store, so that a silent, failing or forgetful store costs little and
 * loses nothing: deadlines, a circuit breaker, and commands that are repeated until the store has answered.
 *
 * Reading order: guarded-store.ts (what must not be lost), store-commands.ts (every command passes here: its deadline),
 * circuit-breaker.ts (silence), modes.ts (what an operator has switched off), own-leases.ts (leases that outlive their
 * loads), pending-invalidations.ts (invalidations to replay), backlog.ts (the repetition both share).
 */
import type { Clock } from '../time/clock.ts'
import { CacheError, type Failure, ignoreRejection } from '../errors.ts'
import type { Events } from '../observe/events.ts'
import { PendingInvalidations, stricter, type InvalidationTarget } from './pending-invalidations.ts'
import type { Modes } from './modes.ts'
import { OwnLeases } from './own-leases.ts'
import type {
  Claim,
  ClaimRequest,
  Entry,
  Invalidation,
  Lease,
  LeaseName,
  NewValue,
  Outcome,
  Renewed,
  Store,
  StoreUser,
  Wait,
} from '../contract/store.ts'
import { StoreCommands, type Settle } from './store-commands.ts'

/** Why the store is not asked while the cache is not in the mode `cache`; no caller is given it. */
const switchedOff = new CacheError('STORE_UNAVAILABLE', 'The cache is switched off')

/**
 * A store that answers in time or rejects with STORE_UNAVAILABLE, and that loses nothing: releases of ended leases are
 * repeated until answered, and so are failed invalidations, if the options ask for it.
 */
export class GuardedStore {
  readonly #store: Store
  readonly #clock: Clock
  readonly #events: Events
  readonly #commands: StoreCommands
  readonly #pending: PendingInvalidations
  readonly #keepsInvalidations: boolean
  readonly #leases: OwnLeases
  readonly #modes: Modes
  /** The ends of loads that are on their way to the store. */
  readonly #endsUnderWay = new Set<Promise<unknown>>()
  #closed = false

  /**
   * @param options.timeout the deadline of a command, in milliseconds
   * @param options.keepsInvalidations whether a failed invalidation is kept for replay instead of rejected
   * @param options.modes in any other mode than `cache`, nothing is read, claimed or filled
   */
  constructor(
    store: Store,
    options: { timeout: number; keepsInvalidations: boolean; clock: Clock; events: Events; modes: Modes },
  ) {
    const { timeout, keepsInvalidations, clock, events, modes } = options
    this.#modes = modes
    this.#store = store
    this.#clock = clock
    this.#keepsInvalidations = keepsInvalidations
    this.#events = events
    this.#commands = new StoreCommands(store, { timeout, clock, events, onRecovery: () => this.#catchUp() })
    const invalidate = ({ of, name }: InvalidationTarget, how: Invalidation): Promise<void> =>
      this.#commands.call(() => (of === 'key' ? store.invalidate(name, how) : store.invalidateTags([name], how)))
    this.#pending = new PendingInvalidations({ invalidate, sharded: store.sharded, clock, events })
    const release = (lease: LeaseName): Promise<boolean> => this.#sendRelease(lease)
    this.#leases = new OwnLeases({ release, sharded: store.sharded, clock })
  }

  /** Whether the circuit breaker is open. */
  get unavailable(): boolean {
    return this.#commands.outage !== null
  }

  /** The error that opened the breaker; `null` while it is closed. */
  get outage(): CacheError | null {
    return this.#commands.outage
  }

  /** How long a command that is sent now may take, in milliseconds. */
  get longestCommand(): number {
    return this.#commands.longest
  }

  /** Whether an invalidation of the key has yet to reach the store. */
  hasPendingInvalidation(key: string): boolean {
    return this.#pending.reasonFor(key) !== undefined
  }

  /** Runs a command of an operator, which may concern a key whose invalidation is pending. */
  ask<T>(run: (store: Store) => Promise<T>): Promise<T> {
    return this.#commands.call(() => run(this.#store))
  }

  read(key: string, tags: readonly string[]): Promise<Entry | null> {
    return new Promise((resolve, reject) => this.readInto(key, tags, this.#clock.now(), { resolve, reject }))
  }

  /**
   * A read for a hit, where each promise counts: it settles the caller's promise directly.
   * @param since now, by the clock
   */
  readInto(key: string, tags: readonly string[], since: number, caller: Settle<Entry | null>): void {
    const { moment } = this.#pending
    const settle = moment === null ? caller : this.#filtering(moment, caller)
    this.#commands.send(() => this.#store.read(key, tags), settle, {
      refusal: this.#refusal(this.#pending.reasonFor(key)),
      since,
    })
  }

  /** As `read` of each key, with one deadline; `null` if the store has no such command, or some key must not be read. */
  readMany(keys: readonly string[]): Promise<readonly (Entry | null)[]> | null {
    const readMany = this.#store.readMany?.bind(this.#store)
    const isPossible = this.#pending.count === 0 && this.#modes.current === 'cache'
    return readMany === undefined || !isPossible ? null : this.#commands.call(() => readMany(keys))
  }

  /** A token for a new load or value. */
  newToken(): string {
    return this.#leases.newToken()
  }

  claim(request: ClaimRequest): Promise<Claim> {
    const { moment } = this.#pending
    return new Promise((resolve, reject) => {
      const answer = (claim: Claim): void => {
        const isBack = claim.state === 'wait' && this.#leases.isOver(claim.token)
        const answered = isBack ? this.#claimAgain(request, claim) : this.#guarded(claim)
        resolve(moment === null ? answered : this.#filtered(moment, answered))
      }
      this.#claimOnce(request, { resolve: answer, reject })
    })
  }

  fill(lease: Lease, value: NewValue): Promise<boolean> {
    return this.#endLoad(lease, () => this.#store.fill(lease, value), value.tags)
  }

  fail(lease: Lease, failure: Failure, cooldown: number, tags?: readonly string[]): Promise<boolean> {
    return this.#endLoad(lease, () => this.#store.fail(lease, failure, cooldown, tags), tags)
  }

  pass(lease: Lease, duration: number): Promise<boolean> {
    return this.#endLoad(lease, () => this.#store.pass(lease, duration))
  }

  /** Releases a lease, repeatedly until the store answers; resolves with the result of the first attempt. */
  release(lease: LeaseName & { readonly ttl: number }): Promise<boolean> {
    return this.#track(this.#leases.giveBack(lease))
  }

  renew(leases: readonly Lease[]): Promise<Renewed>[] {
    if (this.unavailable) return leases.map(() => this.#commands.call(() => Promise.resolve<Renewed>(false)))
    try {
      return this.#store.renew(leases).map((answer) => this.#commands.call(() => answer))
    } catch (error) {
      // A user's store may throw where it should reject.
      return leases.map(() => this.#commands.call(() => Promise.reject<Renewed>(error)))
    }
  }

  async set(key: string, token: string, value: NewValue): Promise<void> {
    if (this.#modes.current !== 'cache') return await this.invalidate(key)
    const before = this.#pending.of({ of: 'key', name: key })
    let isAwaited = true
    const since = this.#clock.now()
    const send = async (): Promise<void> => {
      // Its deadline is not known before the first connection is there, and so neither what the store must take for late.
      if (this.#commands.isConnecting) await this.#store.ping()
      if (isAwaited) await this.#store.set(key, token, value, this.#commands.leftFor(since))
    }
    try {
      await this.#commands.call(send)
    } finally {
      isAwaited = false
    }
    this.#pending.forget(before)
  }

  async invalidate(key: string, asked: Invalidation = 'hard'): Promise<void> {
    const target: InvalidationTarget = { of: 'key', name: key }
    const how = this.#pending.howFor(target, asked)
    await this.#invalidateOrKeep([target], how, () => this.#store.invalidate(key, how))
  }

  async invalidateTags(tags: readonly string[], how: Invalidation): Promise<void> {
    const targets = tags.map((name): InvalidationTarget => ({ of: 'tag', name }))
    await this.#invalidateOrKeep(targets, how, () => this.#store.invalidateTags(tags, how))
  }

  /** Invalidates, or keeps what could not be carried out. */
  async #invalidateOrKeep(
    targets: readonly InvalidationTarget[],
    how: Invalidation,
    run: () => Promise<void>,
  ): Promise<void> {
    const before = targets.map((target) => this.#pending.of(target))
    try {
      await this.#commands.call(run)
      // A soft one does not do what a stricter one is kept for.
      for (const kept of before) if (kept !== undefined && stricter(kept.how, how) === how) this.#pending.forget(kept)
    } catch (error) {
      if (!this.#keepsInvalidations || this.#closed) throw error
      for (const target of targets) if (!this.#pending.keep(target, how, error as CacheError)) throw error
    }
  }

  open(): void {
    this.#store.open(this.#user)
    this.#commands.open()
    this.#modes.open()
  }

  /** Waits for the ends of loads, then sends the backlogs once more, because a closed cache sends nothing. */
  async drain(): Promise<void> {
    while (this.#endsUnderWay.size > 0) await Promise.allSettled(this.#endsUnderWay)
    await Promise.all([this.#leases.drain(), this.#pending.count > 0 ? this.#pending.replay() : null])
  }

  /**
   * Ends the use of the store, and rejects the commands under way with CLOSED.
   * @throws `CacheError` STORE_UNAVAILABLE, when all is closed, if kept invalidations were not carried out
   */
  async close(): Promise<void> {
    this.#closed = true
    const { reason = 'other' } = this.#commands.outage ?? {}
    this.#pending.stop()
    this.#leases.close()
    this.#modes.close()
    this.#commands.close()
    await this.#store.close(this.#user)
    const { count } = this.#pending
    if (count === 0) return
    throw new CacheError(
      'STORE_UNAVAILABLE',
      `The cache is closed, and ${count} kept invalidations were not carried out`,
      { reason },
    )
  }

  /** Claims after a lease of this process whose load has ended: the store has brought it back. */
  async #claimAgain(request: ClaimRequest, claim: Wait): Promise<Claim> {
    claim.leave()
    await this.#leases.cameBack({ key: request.key, token: claim.token })
    return this.#guarded(await new Promise((resolve, reject) => this.#claimOnce(request, { resolve, reject })))
  }

  #claimOnce(request: ClaimRequest, { resolve, reject }: Settle<Claim>): void {
    const { key, token, leaseTtl: ttl } = request
    const release = (): void => ignoreRejection(this.release({ key, token, ttl }))
    const endUngranted = ({ state }: Claim): void => {
      if (state !== 'lease') this.#leases.endClaim(token)
    }
    const send = (): Promise<Claim> => {
      this.#leases.beginClaim(token)
      const answer = this.#store.claim(request)
      // A refusal proves that no lease was granted. After any other error the store may have granted it: release it.
      answer.then(endUngranted, (error: unknown) => {
        if (this.#store.refused?.(error)) this.#leases.endClaim(token)
        else release()
      })
      return answer
    }
    const refuse = (error: CacheError): void => {
      // Still live: the deadline has passed without an answer. There may never be one, because some clients drop sent
      // commands when a connection breaks.
      if (!this.#closed && this.#leases.isLive(token)) release()
      reject(error)
    }
    // The claimer is gone: the lease must not block its key, and the wait must not be remembered for ever.
    const late = (claim: Claim): void => {
      if (claim.state === 'lease') ignoreRejection(this.release(claim.lease))
      if (claim.state === 'wait') claim.leave()
    }
    const refusal = this.#refusal(this.#pending.reasonFor(key))
    this.#commands.send(send, { resolve, reject: refuse }, { refusal, late })
  }

  /** A claim whose further command has the deadline, too. */
  #guarded(claim: Claim): Claim {
    if (claim.state !== 'wait' || claim.stillLoads === undefined) return claim
    const stillLoads = async (): Promise<boolean> => (await claim.stillLoads?.()) ?? false
    return { ...claim, stillLoads: () => this.#commands.call(stillLoads, this.#refusal()) }
  }

  /** Settles the promise of a caller that has asked at a moment at which invalidations were kept. */
  #filtering(moment: number, { resolve, reject }: Settle<Entry | null>): Settle<Entry | null> {
    const filtered = (entry: Entry | null): void => {
      const why = entry === null ? undefined : this.#pending.reasonSince(moment, entry)
      if (why === undefined) resolve(entry)
      else reject(why)
    }
    return { resolve: filtered, reject }
  }

  /**
   * A claim that was sent at such a moment.
   * @throws the reason if its value must not be given to a caller
   */
  async #filtered(moment: number, answered: Claim | Promise<Claim>): Promise<Claim> {
    const claim = await answered
    const isOut = (entry: Entry): boolean => this.#pending.reasonSince(moment, entry) !== undefined
    if (claim.state === 'pass') return claim
    if (claim.state === 'fresh') {
      const why = this.#pending.reasonSince(moment, claim.entry)
      if (why !== undefined) throw why
      return claim
    }
    const known = { ...claim, stale: claim.stale === null || isOut(claim.stale) ? null : claim.stale }
    if (known.state !== 'wait') return known
    const outcome = known.outcome.then((heard): Outcome =>
      heard.state === 'filled' && isOut(heard.entry) ? { state: 'again' } : heard,
    )
    return { ...known, outcome }
  }

  /** Ends a load. If the store's answer is missing, the lease is released. */
  #endLoad(lease: Lease, run: () => Promise<boolean>, tags?: readonly string[]): Promise<boolean> {
    const end = new Promise<boolean>((resolve, reject) => {
      const answer = (accepted: boolean): void => {
        this.#leases.endLease(lease)
        resolve(accepted)
      }
      const release = (error: CacheError): void => {
        ignoreRejection(this.release(lease))
        reject(error)
      }
      // The load may have begun before an invalidation of which the store has not been told.
      const refusal = this.#refusal(this.#pending.reasonForTags(tags))
      this.#commands.send(run, { resolve: answer, reject: release }, { refusal })
    })
    return this.#track(end)
  }

  #track(end: Promise<boolean>): Promise<boolean> {
    this.#endsUnderWay.add(end)
    const over = (): void => void this.#endsUnderWay.delete(end)
    void end.then(over, over)
    return end
  }

  /** Why a command about values or leases must not be sent now, besides this reason. */
  #refusal(other?: CacheError): CacheError | undefined {
    return this.#modes.current === 'cache' ? other : switchedOff
  }

  /** A late answer may bring a lease after the close, and that lease must still be released. */
  #sendRelease(lease: LeaseName): Promise<boolean> {
    return this.#closed ? this.#store.release(lease) : this.#commands.call(() => this.#store.release(lease))
  }

  readonly #user: StoreUser = {
    pushed: (up) => {
      this.#events.emit('push', { up })
      // A message may have been lost.
      if (up) void this.#modes.look()
    },
    modeChanged: () => void this.#modes.look(),
    mayHaveForgotten: () => this.#leases.giveBackAgain(),
    awaited: (lease) => {
      if (this.#leases.isOver(lease.token)) void this.#leases.cameBack(lease)
    },
  }

  /** After an outage: send the backlogs, and release the ended leases that the store may have forgotten to drop. */
  #catchUp(): void {
    void this.#modes.look()
    this.#leases.giveBackAgain()
    void this.#pending.replay()
  }
}
