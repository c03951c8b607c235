import type { Clock } from '../time/clock.ts'
import type { Duration } from '../time/duration.ts'
import { CacheError, quoted, ignoreRejection } from '../errors.ts'
import type { Hold } from '../contract/lock-backend.ts'
import { checkedTtl } from '../options/lock-plan.ts'
import type { LockLease, Released } from '../contract/lock.ts'
import type { WatchedLease } from '../lease/watchdog.ts'

/** What a lease asks of its lock. */
export interface Keeper {
  readonly clock: Clock
  /** The longest ttl that there is, in milliseconds. */
  longest(): number
  /** Whether it is still ours; rejects with STORE_UNAVAILABLE. */
  renew(hold: Hold): Promise<boolean>
  release(hold: Hold): Promise<boolean>
  /** Called once, when the lease is over in whatever way. */
  over(lease: HeldLock): void
}

/** A lock that is held, by the clock of this process. */
export class HeldLock implements LockLease {
  readonly #keeper: Keeper
  readonly #watch: WatchedLease<Hold>
  #hold: Hold
  #ended: CacheError | 'released' | null = null
  #releasing: Promise<Released> | null = null
  #abort: AbortController | null = null

  /** @param watch begins to renew it, and says when it is lost */
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

  // Made when asked for, as that of a load.
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
    return this.remaining() > margin
  }

  assertValid(margin = 0): void {
    if (this.isValid(margin)) return
    if (this.#ended instanceof CacheError) throw this.#ended
    const left = this.remaining()
    throw this.#error(left > 0 ? `${Math.floor(left)} ms are left, and ${margin} are needed` : 'it is over')
  }

  async extend(ttl: Duration = this.#hold.ttl): Promise<boolean> {
    const hold = { ...this.#hold, ttl: Math.min(checkedTtl(ttl), this.#keeper.longest()) }
    if (!this.isValid()) return false
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

  /** Ends it for those who hold it, and gives it back. */
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
    // It may be there still: then others need not wait for its end, nor we for the answer.
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
