import type { Permits } from '../../src/core/contract/permits.ts'
import type { Claim, ClaimRequest, Lease, Renewed, Store } from '../../src/core/contract/store.ts'
import { FarStore, type FarCommand } from '../../src/testing/virtual-fleet/far-store.ts'
import type { Random } from '../../src/testing/virtual-fleet/random.ts'
import { withoutValue } from '../unit/support/unreliable-store.ts'
import type { Network } from './schedule.ts'

/** That a lease is held, as a process was told; the moments are milliseconds. */
export interface Confirmation {
  readonly fence: string
  readonly sentAt: number
  readonly at: number
}

/** Notes what a process asks of its store, and which leases it is told that it has; and lets it hear less if a schedule says so. */
export class Witness extends FarStore {
  /** When the process was told that it has a lease, and when it had sent the claim or the renewal that this answered. */
  readonly confirmed: Confirmation[] = []
  /** When it asked for what, in milliseconds. */
  readonly sent: { readonly at: number; readonly command: FarCommand }[] = []
  /** How many users of its source it was told of, and when, in milliseconds. */
  readonly usersKnown: { readonly at: number; readonly users: number }[] = []
  /** Waits that the process has been told of and has not left. */
  waiting = 0
  protected readonly store: Store
  readonly #network: Network
  readonly #random: Random
  readonly #now: () => number

  constructor(store: Store, { network, random, now }: { network: Network; random: Random; now: () => number }) {
    super()
    this.store = store
    this.#network = network
    this.#random = random
    this.#now = now
  }

  override get pushes(): boolean {
    return this.#network.pushed
  }

  override get permits(): Permits | undefined {
    const permits = super.permits
    if (permits === undefined) return undefined
    return {
      report: async (report, told) => {
        const answer = await permits.report(report, told)
        this.usersKnown.push({ at: this.#now(), users: answer.users })
        return answer
      },
      forget: (who) => permits.forget(who),
    }
  }

  override async claim(request: ClaimRequest): Promise<Claim> {
    const sentAt = this.#now()
    const claim = await super.claim(request)
    if (claim.state === 'lease') this.#confirm(claim.lease, sentAt)
    if (claim.state !== 'wait') return claim
    this.waiting++
    const leave = (): void => {
      this.waiting--
      claim.leave()
    }
    return { ...claim, leave }
  }

  override renew(leases: readonly Lease[]): Promise<Renewed>[] {
    const sentAt = this.#now()
    return super.renew(leases).map(async (answer, index) => {
      const ours = await answer
      if (ours !== false) this.#confirm(leases[index] as Lease, sentAt)
      return ours
    })
  }

  protected carry<T>(command: FarCommand, _key: string, run: () => Promise<T>): Promise<T> {
    this.sent.push({ at: this.#now(), command })
    return run()
  }

  protected async message<T>(said: Promise<T>): Promise<T> {
    if (!this.#network.pushed) return new Promise(() => undefined)
    const message = await said
    return this.#random.percent(this.#network.bulky) ? withoutValue(message) : message
  }

  #confirm({ fence }: Lease, sentAt: number): void {
    this.confirmed.push({ fence: String(fence), sentAt, at: this.#now() })
  }
}
