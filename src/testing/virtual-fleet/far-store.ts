import type { Permits } from '../../core/contract/permits.ts'
import type { Failure } from '../../core/errors.ts'
import type {
  Claim,
  ClaimRequest,
  Copies,
  Entry,
  Inspection,
  Invalidation,
  Lease,
  LeaseName,
  NewValue,
  Renewed,
  Store,
  StoreUser,
  Watch,
} from '../../core/contract/store.ts'

/** The methods of a store that are commands. */
export type FarCommand =
  | ('read' | 'claim' | 'fill' | 'fail' | 'pass' | 'release' | 'renew')
  | ('set' | 'invalidate' | 'invalidateTags' | 'ping')
  | ('look' | 'leases' | 'names' | 'breakLease' | 'permits')

/** Another store behind a network that may delay, lose or repeat commands, answers and messages. */
export abstract class FarStore implements Store {
  sharded = false

  /** Whether answers promise messages. */
  get pushes(): boolean {
    return true
  }

  protected abstract get store(): Store

  get inspection(): Inspection {
    const { inspection } = this.store
    if (inspection === undefined) throw new Error('Expected a store that can be inspected')
    return {
      look: (key) => this.carry('look', key, () => inspection.look(key)),
      leases: (prefix) => {
        const steps = inspection.leases?.(prefix)
        if (steps === undefined) throw new Error('Expected a store that lists its leases')
        return { next: () => this.carry('leases', prefix, () => steps.next()) }
      },
      names: (prefix, of) => {
        const steps = inspection.names?.(prefix, of)
        if (steps === undefined) throw new Error('Expected a store that lists its keys')
        return { next: () => this.carry('names', prefix, () => steps.next()) }
      },
      breakLease: (key, token) => this.carry('breakLease', key, () => inspection.breakLease(key, token)),
    }
  }

  get permits(): Permits | undefined {
    if (this.store.permits === undefined) return undefined
    // The store may be another one after this, empty.
    const permits = (): Permits => this.store.permits as Permits
    return {
      report: (report, told) => {
        const tell = (): void => void this.message(Promise.resolve(), report.who).then(told)
        return this.carry('permits', report.source, () => permits().report(report, tell))
      },
      forget: (who) => permits().forget(who),
    }
  }

  /** Carries out a command. Resolves with its answer, rejects, or never settles. */
  protected abstract carry<T>(command: FarCommand, key: string, run: () => Promise<T>): Promise<T>

  /** Carries a message about the load of a token: its outcome, or the loss of its lease. */
  protected abstract message<T>(said: Promise<T>, token: string): Promise<T>

  read(key: string, tags?: readonly string[]): Promise<Entry | null> {
    return this.carry('read', key, () => this.store.read(key, tags))
  }

  readMany(keys: readonly string[]): Promise<(Entry | null)[]> {
    return this.carry('read', keys.join(' '), () => Promise.all(keys.map((key) => this.store.read(key))))
  }

  /** Notifications about copies arrive at once. */
  watch(namespace: string, copies: Copies): Watch {
    if (this.store.watch === undefined) throw new TypeError('Expected a store that tells what goes')
    return this.store.watch(namespace, copies)
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const claim = await this.carry('claim', request.key, () => this.store.claim(request))
    switch (claim.state) {
      case 'wait':
        return { ...claim, outcome: this.message(claim.outcome, claim.token), pushed: claim.pushed && this.pushes }
      case 'lease':
        return { ...claim, lease: { ...claim.lease, lost: this.message(claim.lease.lost, claim.lease.token) } }
      default:
        return claim
    }
  }

  fill(lease: Lease, value: NewValue): Promise<boolean> {
    return this.carry('fill', lease.key, () => this.store.fill(lease, value))
  }

  fail(lease: Lease, failure: Failure, cooldown: number, tags?: readonly string[]): Promise<boolean> {
    return this.carry('fail', lease.key, () => this.store.fail(lease, failure, cooldown, tags))
  }

  pass(lease: Lease, duration: number): Promise<boolean> {
    return this.carry('pass', lease.key, () => this.store.pass(lease, duration))
  }

  release(lease: LeaseName): Promise<boolean> {
    return this.carry('release', lease.key, () => this.store.release(lease))
  }

  renew(leases: readonly Lease[]): Promise<Renewed>[] {
    const keys = leases.map(({ key }) => key).join(' ')
    const answers = this.carry('renew', keys, () => Promise.all(this.store.renew(leases)))
    return leases.map((_, index) => answers.then((renewed) => renewed[index] ?? false))
  }

  set(key: string, token: string, value: NewValue, within?: number): Promise<void> {
    return this.carry('set', key, () => this.store.set(key, token, value, within))
  }

  invalidate(key: string, how?: Invalidation): Promise<void> {
    return this.carry('invalidate', key, () => this.store.invalidate(key, how))
  }

  invalidateTags(tags: readonly string[], how?: Invalidation): Promise<void> {
    return this.carry('invalidateTags', tags.join(' '), () => this.store.invalidateTags(tags, how))
  }

  ping(): Promise<void> {
    return this.carry('ping', '', () => this.store.ping())
  }

  open(user?: StoreUser): void {
    this.store.open(user)
  }

  close(user?: StoreUser): Promise<void> {
    return this.store.close(user)
  }
}
