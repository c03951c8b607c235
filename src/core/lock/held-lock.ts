import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../time/clock.ts'
import { formatValue, type Duration } from '../time/duration.ts'
import { CacheError, quoted, ignoreRejection } from '../errors.ts'
import type { Hold } from '../contract/lock-backend.ts'
import { checkedTtl } from '../options/lock-plan.ts'
import type { LockLease, Released } from '../contract/lock.ts'
import type { WatchedLease } from '../lease/watchdog.ts'

/** The part of a lock that its leases call. */
export interface Keeper {
  readonly clock: Clock
  /** The longest ttl of the backend, in milliseconds. */
  longest(): number
  /** Extends a lease; resolves with whether it is still held, rejects with STORE_UNAVAILABLE. */
  renew(hold: Hold): Promise<boolean>
  release(hold: Hold): Promise<boolean>
  /** Called once, when the lease is over for any reason. */
  over(lease: HeldLock): void
}

/** A held lease of a lock, by the clock of this process. */
export class HeldLock implements LockLease {
  readonly #keeper: Keeper
  readonly #watch: WatchedLease<Hold>
  #hold: Hold
  #ended: CacheError | 'released' | null = null
  #releasing: Promise<Released> | null = null
  #abort: AbortController | null = null

  /** @param watch starts the renewal, and calls `lose` when the lease is lost */
  constructor(hold: Hold, keeper: Keeper, watch: (lose: (why: string) => void) => WatchedLease<Hold>) {
    this.#hold = hold
    this.#keeper = keeper
    this.#watch = watch((why) => this.#lost(why))
  }

  get name(): string {
    return this.#hold.name
  }

  get token(): string {
    return this.#hold.token
  }

  get fence(): bigint | null {
    return this.#hold.fence
  }

  // Created when first read, because most holders never read it.
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController()
      if (this.#ended instanceof CacheError) this.#abort.abort(this.#ended)
    }
    return this.#abort.signal
  }

  remaining(): number {
    if (this.#ended !== null) return 0
    return Math.max(0, this.#watch.deadline - this.#keeper.clock.now())
  }

  isValid(margin = 0): boolean {
    return this.remaining() > checkedMargin(margin)
  }

  assertValid(margin = 0): void {
    if (this.isValid(margin)) return
    if (this.#ended instanceof CacheError) throw this.#ended
    const left = this.remaining()
    throw this.#error(left > 0 ? `${Math.floor(left)} ms are left, and ${margin} are needed` : 'it is over')
  }

  async extend(ttl: Duration = this.#hold.ttl): Promise<boolean> {
    const hold = { ...this.#hold, ttl: Math.min(checkedTtl(ttl), this.#keeper.longest()) }
    if (!this.isValid()) {
      this.#lost('its ttl has ended')
      return false
    }
    const sentAt = this.#keeper.clock.now()
    this.#hold = hold
    this.#watch.changes(hold, sentAt)
    const ours = await this.#keeper.renew(hold)
    if (this.#ended !== null) return false
    if (!ours) {
      this.#lost('it expired, was taken away or belongs to somebody else now')
      return false
    }
    this.#watch.renewed(hold, sentAt)
    return true
  }

  release(): Promise<Released> {
    return this.#giveBack('released')
  }

  /** Ends the lease with an error for its holder, and releases it. */
  async surrender(error: CacheError): Promise<void> {
    await this.#giveBack(error)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  #giveBack(how: CacheError | 'released'): Promise<Released> {
    this.#releasing ??= this.#released(how)
    return this.#releasing
  }

  async #released(how: CacheError | 'released'): Promise<Released> {
    if (!this.isValid()) {
      this.#lost('its ttl has ended')
      return 'lost'
    }
    this.#end(how)
    return await this.#keeper.release(this.#hold).then(
      (ours): Released => (ours ? 'released' : 'lost'),
      (): Released => 'unknown',
    )
  }

  #lost(why: string): void {
    if (this.#ended !== null) return
    this.#end(this.#error(why))
    // The backend may still hold the lease: a release spares waiters the rest of its ttl, and needs no reply.
    ignoreRejection(this.#keeper.release(this.#hold))
  }

  #end(how: CacheError | 'released'): void {
    this.#ended = how
    this.#watch.end()
    this.#keeper.over(this)
    if (how instanceof CacheError) this.#abort?.abort(how)
  }

  #error(why: string): CacheError {
    return new CacheError('LEASE_LOST', `The lock ${quoted(this.name)} was lost: ${why}`, { key: this.name })
  }
}

function checkedMargin(margin: unknown): number {
  if (typeof margin === 'number' && margin >= 0) return margin
  throw new TypeError(`Expected \`margin\` to be a number of milliseconds, 0 or more, got ${formatValue(margin)}`)
}

/** A lock that the running work holds, as a link in the chain of all its locks. */
interface Holding {
  readonly lock: object
  readonly lease: LockLease
  readonly outer: Holding | undefined
}

/** The locks that the running work holds, in the current asynchronous context. One chain for all locks. */
const holding = new AsyncLocalStorage<Holding>()

/** Runs `work` as the holder of a lease. */
export function runHolding<T>(lock: object, lease: LockLease, work: () => T): T {
  return holding.run({ lock, lease, outer: holding.getStore() }, work)
}

/** The valid lease of this name in the caller's context; `null` if there is none. Work may outlive its lease. */
export function heldHere(lock: object, name: string): LockLease | null {
  for (let held = holding.getStore(); held !== undefined; held = held.outer) {
    if (held.lock === lock && held.lease.name === name && held.lease.isValid()) return held.lease
  }
  return null
}

/** A lease within a lease of the same name (re-entrancy): the same lease, but its release does nothing. */
export function nested(outer: LockLease): LockLease {
  return {
    name: outer.name,
    token: outer.token,
    fence: outer.fence,
    get signal() {
      return outer.signal
    },
    remaining: () => outer.remaining(),
    isValid: (margin) => outer.isValid(margin),
    assertValid: (margin) => outer.assertValid(margin),
    extend: (ttl) => outer.extend(ttl),
    release: async () => (outer.isValid() ? 'released' : 'lost'),
    [Symbol.asyncDispose]: async () => undefined,
  }
}
