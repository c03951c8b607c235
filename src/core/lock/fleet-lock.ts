/*
 * Room: lock. Distributed locks over any backend: waiting, renewal, deadlines and re-entrancy.
 *
 * Reading order: fleet-lock.ts (requests and their waits), held-lock.ts (a lease that is held, and locks within
 * it). The backends are in other folders, behind core/contract/lock-backend.ts.
 */
import { onAbort } from '../time/abort.ts'
import { drawRandom, spread, systemClock, type Clock, type Timer } from '../time/clock.ts'
import { formatValue } from '../time/duration.ts'
import { CacheError, lockClosedError, quoted, ignoreRejection, unansweredError, unavailableError } from '../errors.ts'
import { heldHere, HeldLock, nested, runHolding, type Keeper } from './held-lock.ts'
import { checkKey } from '../entry/key.ts'
import { planToAcquire, planToHold, type LockPlan } from '../options/lock-plan.ts'
import type { Busy, Hold, LockBackend, TakeResult, TakeRequest } from '../contract/lock-backend.ts'
import type { AcquireOptions, HoldOptions, Lock, LockLease } from '../contract/lock.ts'
import { tokens } from '../lease/token.ts'
import { InFlightCommands } from '../time/deadline.ts'
import { Watchdog } from '../lease/watchdog.ts'

/** How long a waiter waits for a message before it requests again, in milliseconds, in case the message was lost. */
const messageLost = 1_500

/** The settings of a lock that do not depend on its backend. */
export interface FleetLockOptions {
  /** The defaults of its requests. */
  readonly plan: LockPlan
  /** The deadline of the backend's replies, in milliseconds. */
  readonly commandTimeout: number
  /** Whether the backend can keep the order of waiters. Default true. */
  readonly ordered?: boolean
  readonly clock?: Clock
}

/** A distributed lock over any backend. */
export class FleetLock implements Lock {
  readonly #backend: LockBackend
  readonly #plan: LockPlan
  readonly #ordered: boolean
  readonly #clock: Clock
  readonly #watchdog: Watchdog<Hold>
  readonly #keeper: Keeper
  readonly #held = new Set<HeldLock>()
  readonly #token = tokens()
  /** Rejects each request that is under way, once the lock is closed. */
  readonly #callOffs = new Set<() => void>()
  readonly #commands: InFlightCommands
  /** Commands that may still take or release something, whether or not a caller waits for them. */
  readonly #underWay = new Set<Promise<unknown>>()
  #closed = false
  #closing: Promise<void> = Promise.resolve()

  constructor(backend: LockBackend, { plan, commandTimeout, ordered = true, clock = systemClock }: FleetLockOptions) {
    this.#ordered = ordered
    this.#backend = backend
    this.#plan = plan
    this.#clock = clock
    this.#commands = new InFlightCommands(commandTimeout, clock, (reject, waited) =>
      reject(unansweredError(waited, backend.diagnose?.())),
    )
    this.#watchdog = new Watchdog((holds) => backend.renew(holds), clock)
    this.#keeper = {
      clock,
      longest: () => backend.longest,
      renew: (hold) => this.#seen(this.#sent(async () => (await backend.renew([hold])[0]) === true)),
      release: (hold) => this.#seen(this.#sent(() => backend.release(hold))),
      over: (lease) => void this.#held.delete(lease),
    }
    backend.open()
  }

  async tryAcquire(name: string, options: HoldOptions = {}): Promise<LockLease | null> {
    checkKey(name)
    const plan = planToHold(this.#plan, options)
    return this.#ours(name, plan) ?? (await this.#seen(this.#once(name, plan)))
  }

  async acquire(name: string, options: AcquireOptions = {}): Promise<LockLease> {
    checkKey(name)
    const plan = this.#planned(options, 'acquire')
    return await this.#had(name, plan, this.#clock.now() + plan.wait)
  }

  async run<T>(
    name: string | readonly string[],
    work: (held: never) => T | PromiseLike<T>,
    options: AcquireOptions = {},
  ): Promise<T> {
    if (typeof work !== 'function') throw new TypeError(`Expected the work to be a function, got ${formatValue(work)}`)
    return await (typeof name === 'string'
      ? this.#runAll([name], ([lease]) => work(lease as never), options)
      : this.#runAll(name, (leases) => work(leases as never), options))
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true
      this.#closing = this.#end()
    }
    return this.#closing
  }

  async #end(): Promise<void> {
    for (const callOff of this.#callOffs) callOff()
    await Promise.all([...this.#held].map((lease) => lease.surrender(lockClosedError(lease.name))))
    this.#watchdog.close()
    // Leases granted to requests under way must be released too, while the client is still open.
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
    this.#commands.close()
    await this.#backend.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #runAll<T>(
    names: readonly string[],
    work: (leases: readonly LockLease[]) => T | PromiseLike<T>,
    options: AcquireOptions,
  ): Promise<T> {
    if (!Array.isArray(names) || names.length === 0) {
      throw new TypeError(`Expected the name of a lock, or several in an array, got ${formatValue(names)}`)
    }
    for (const name of names) checkKey(name)
    const plan = this.#planned(options, 'run')
    const giveUpAt = this.#clock.now() + plan.wait
    const leases = new Map<string, LockLease>()
    try {
      for (const name of [...new Set(names)].toSorted((one, other) => (one < other ? -1 : 1))) {
        leases.set(name, await this.#had(name, plan, giveUpAt))
      }
      const held = [...leases.values()]
      // The first lease may have ended during the wait for the last.
      for (const lease of held) lease.assertValid()
      const start = (): T | PromiseLike<T> => work(names.map((name) => leases.get(name) as LockLease))
      const result = await held.reduce<() => T | PromiseLike<T>>(
        (inner, lease) => () => runHolding(this, lease, inner),
        start,
      )()
      // Another holder may have had the lock meanwhile: the caller must know.
      for (const lease of held) lease.assertValid()
      return result
    } finally {
      await Promise.all([...leases.values()].map((lease) => lease.release()))
    }
  }

  #planned(options: AcquireOptions, who: 'acquire' | 'run'): LockPlan {
    const plan = planToAcquire(this.#plan, options, who)
    if (plan.fair && !this.#ordered) throw new TypeError('Expected `fair` to be false: this lock keeps no order')
    return plan
  }

  /** The caller's own lease of this name, if re-entrancy is allowed and it has one. */
  #ours(name: string, { reentrant }: LockPlan): LockLease | null {
    const outer = reentrant ? heldHere(this, name) : null
    return outer === null ? null : nested(outer)
  }

  #had(name: string, plan: LockPlan, giveUpAt: number): LockLease | Promise<LockLease> {
    return this.#ours(name, plan) ?? this.#seen(this.#takeInTime(name, plan, giveUpAt))
  }

  async #once(name: string, plan: LockPlan): Promise<LockLease | null> {
    const taken = await this.#take({ name, token: this.#token(), ttl: plan.ttl, waits: 'no' }, plan)
    if (taken instanceof HeldLock) return taken
    this.#decline(taken)
    return null
  }

  /**
   * Requests the lock until it is granted or the time is over. The race that the new token per failed request survives,
   * with processes A and B:
   *
   * 1. A requests the lock under token a. The reply misses its deadline.
   * 2. The backend grants the lock to a. A drops the late reply, and sends a release of a, which is slow.
   * 3. A requests again. Under the same token a, the backend would answer that A holds the lock, and A would begin its
   *    work.
   * 4. The release of step 2 arrives and frees the lock. B is granted it, and works beside A.
   *
   * So step 3 requests under a new token b. The backend answers busy until the release of a arrives, and that release
   * cannot touch a lease of b.
   */
  async #takeInTime(name: string, plan: LockPlan, giveUpAt: number): Promise<LockLease> {
    let token = this.#token()
    let busy: Busy | null = null
    try {
      for (;;) {
        let trouble: CacheError | null = null
        try {
          const taken = await this.#take({ name, token, ttl: plan.ttl, waits: plan.fair ? 'fair' : 'any' }, plan)
          if (taken instanceof HeldLock) return taken
          busy = taken
        } catch (error) {
          if (busy !== null) this.#decline(busy)
          busy = null
          // A backend that does not answer may answer again in time.
          if (!(error instanceof CacheError) || error.code !== 'STORE_UNAVAILABLE') throw error
          trouble = error
          // The failed request may still be granted and is released then: the next one must not be granted the same
          // lease.
          token = this.#token()
        }
        await this.#pause(name, plan, busy, giveUpAt - this.#clock.now())
        if (this.#clock.now() >= giveUpAt) throw trouble ?? heldByOthers(name, plan.wait)
        busy?.leave()
      }
    } catch (error) {
      if (busy !== null) this.#decline(busy)
      throw error
    }
  }

  async #take(request: TakeRequest, plan: LockPlan): Promise<HeldLock | Busy> {
    this.#checkWanted(plan, request.name)
    const askedAt = this.#clock.now()
    // The requester is gone: it can neither hold a late lease nor wait.
    const late = (taken: TakeResult): void => this.#decline(taken)
    const asked = this.#seen(this.#sent(() => this.#backend.take(request), late))
    const taken = await this.#wanted(request.name, plan, asked).catch((error: unknown) => {
      ignoreRejection(asked.then(late))
      throw error
    })
    try {
      this.#checkWanted(plan, request.name)
      if (taken.state === 'busy') return taken
      if (this.#clock.now() >= askedAt + taken.hold.ttl) throw ranOut(request.name)
    } catch (error) {
      this.#decline(taken)
      throw error
    }
    const { hold } = taken
    const lease = new HeldLock(hold, this.#keeper, (lose) => this.#watchdog.watch(hold, askedAt, lose, plan.renew))
    this.#held.add(lease)
    // The caller may be paused for all the time that a lease has left, so it must not start with an almost ended one.
    if (this.#clock.now() >= askedAt + hold.ttl * plan.renew.at) await this.#renewed(lease, plan)
    return lease
  }

  async #renewed(lease: HeldLock, plan: LockPlan): Promise<void> {
    try {
      const ours = await this.#wanted(lease.name, plan, lease.extend())
      this.#checkWanted(plan, lease.name)
      if (!ours) throw ranOut(lease.name)
    } catch (error) {
      void lease.release()
      throw error
    }
  }

  /** Throws if the caller's signal is aborted or the lock is closed. */
  #checkWanted({ signal }: LockPlan, name: string): void {
    signal?.throwIfAborted()
    if (this.#closed) throw lockClosedError(name)
  }

  /** The result of some work for a request; rejects as soon as the caller's signal is aborted or the lock is closed. */
  async #wanted<T>(name: string, { signal }: LockPlan, work: Promise<T>): Promise<T> {
    let reject!: (error: unknown) => void
    const calledOff = new Promise<never>((_, rejects) => (reject = rejects))
    const callOff = (): void => reject(lockClosedError(name))
    this.#callOffs.add(callOff)
    const unheard = signal && onAbort(signal, () => reject(signal.reason))
    try {
      return await Promise.race([work, calledOff])
    } finally {
      this.#callOffs.delete(callOff)
      unheard?.()
    }
  }

  /**
   * Pauses a waiter. Resolves when the lock may be free, when it is time to request again, or after `most`
   * milliseconds.
   * @param busy the result of the last request; `null` if there was none
   */
  async #pause(name: string, plan: LockPlan, busy: Busy | null, most: number): Promise<void> {
    this.#checkWanted(plan, name)
    if (most <= 0) return
    const again = busy?.pushed ? messageLost : plan.retryEvery
    const sleep = Math.min(spread(again, drawRandom(this.#clock)), (busy?.left ?? Number.POSITIVE_INFINITY) + 1, most)
    let timer: Timer | undefined
    const over = new Promise<void>((resolve) => {
      timer = this.#clock.after(sleep, resolve)
      void busy?.freed.then(resolve)
    })
    await this.#wanted(name, plan, over).finally(() => timer?.cancel())
  }

  #decline(taken: TakeResult): void {
    const giveBack = (): Promise<unknown> => {
      return taken.state === 'busy' ? taken.giveUp() : this.#backend.release(taken.hold)
    }
    ignoreRejection(this.#seen(this.#sent(giveBack)))
  }

  /** Sends a command, with its deadline. */
  #sent<T>(send: () => Promise<T>, late?: (value: T) => void): Promise<T> {
    const diagnosed = (error: unknown): never => {
      throw unavailableError(error, this.#backend.diagnose?.(error))
    }
    return this.#commands.run(() => send().catch(diagnosed), late)
  }

  #seen<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work)
    const over = (): void => void this.#underWay.delete(work)
    work.then(over, over)
    return work
  }
}

function heldByOthers(name: string, wait: number): CacheError {
  return new CacheError('LOCK_TIMEOUT', `The lock ${quoted(name)} was held by somebody else for ${wait} ms`, {
    key: name,
  })
}

function ranOut(name: string): CacheError {
  const message = `The lock ${quoted(name)} ran out on its way here`
  return new CacheError('STORE_UNAVAILABLE', message, { key: name, reason: 'timeout' })
}
