import type { Clock } from '../../src/core/clock.ts'
import type { Failure } from '../../src/core/errors.ts'
import type { Claim, ClaimRequest, Entry, Lease, NewValue, Store } from '../../src/core/store.ts'

/** How the way to a store is. */
export interface Way {
  /** How long something is under way, in milliseconds; 0 for no time at all. Asked once for each way, there and back. */
  readonly delay: () => number
  /** Whether the next message about an outcome or a lost lease gets lost. */
  readonly losesMessage: () => boolean
  /** Whether the next command gets lost on its way there, or its answer on its way back. */
  readonly losesCommand: () => boolean
}

/** Another store, far away: commands, answers and messages take their time, and may overtake each other. */
export class SlowStore implements Store {
  readonly sharded = false
  readonly #store: Store
  readonly #clock: Clock
  readonly #way: Way

  constructor(store: Store, clock: Clock, way: Way) {
    this.#store = store
    this.#clock = clock
    this.#way = way
  }

  read(key: string): Promise<Entry | null> {
    return this.#thereAndBack(() => this.#store.read(key))
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const claim = await this.#thereAndBack(() => this.#store.claim(request))
    if (claim.state === 'wait') return { ...claim, outcome: this.#message(claim.outcome) }
    if (claim.state === 'lease') return { ...claim, lease: { ...claim.lease, lost: this.#message(claim.lease.lost) } }
    return claim
  }

  fill(lease: Lease, value: NewValue): Promise<boolean> {
    return this.#thereAndBack(() => this.#store.fill(lease, value))
  }

  fail(lease: Lease, failure: Failure, cooldown: number): Promise<boolean> {
    return this.#thereAndBack(() => this.#store.fail(lease, failure, cooldown))
  }

  pass(lease: Lease, duration: number): Promise<boolean> {
    return this.#thereAndBack(() => this.#store.pass(lease, duration))
  }

  release(lease: Lease): Promise<boolean> {
    return this.#thereAndBack(() => this.#store.release(lease))
  }

  renew(leases: readonly Lease[]): Promise<boolean>[] {
    const answers = this.#thereAndBack(() => Promise.all(this.#store.renew(leases)))
    return leases.map((_, index) => answers.then((ours) => ours[index] === true))
  }

  set(key: string, token: string, value: NewValue, within: number): Promise<void> {
    return this.#thereAndBack(() => this.#store.set(key, token, value, within))
  }

  invalidate(key: string): Promise<void> {
    return this.#thereAndBack(() => this.#store.invalidate(key))
  }

  ping(): Promise<void> {
    return this.#thereAndBack(() => this.#store.ping())
  }

  open(): void {
    this.#store.open()
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  async #thereAndBack<T>(run: () => Promise<T>): Promise<T> {
    await this.#underWay()
    if (this.#way.losesCommand()) return new Promise(() => undefined)
    const answer = await run()
    await this.#underWay()
    if (this.#way.losesCommand()) return new Promise(() => undefined)
    return answer
  }

  async #message<T>(promise: Promise<T>): Promise<T> {
    const message = await promise
    if (this.#way.losesMessage()) return new Promise(() => undefined)
    // It comes on a connection of its own, which may be the slower one.
    for (let times = 0; times < 4; times++) await this.#underWay()
    return message
  }

  async #underWay(): Promise<void> {
    const ms = this.#way.delay()
    if (ms > 0) await new Promise<void>((resolve) => this.#clock.after(ms, resolve))
  }
}
