import { systemClock, type Clock } from '../time/clock.ts'
import { jsonCodec } from '../codec/codec.ts'
import { plainKind } from '../codec/schema.ts'
import type { Diagnosis, Failure } from '../errors.ts'
import { Events } from '../observe/events.ts'
import { Near } from './near.ts'
import type { NearOptions } from '../options/options.ts'
import { checkedNear } from '../options/checks.ts'
import type {
  Claim,
  ClaimRequest,
  Copies,
  Entry,
  Inspection,
  Invalidation,
  Lease,
  LeaseName,
  NearPlan,
  NewValue,
  Store,
  StoreUser,
  Watch,
} from '../contract/store.ts'
import { namespaceOf } from '../entry/tags.ts'

/**
 * A store that keeps copies of fresh values as bytes in this process, in front of another store, for several caches to
 * share. For a single cache, its option `near` is better, because it keeps the values decoded.
 * @param near the bounds of the copies of each namespace
 * @param far a store that notifies changes, such as `redisStore(client)`
 * @throws TypeError for a wrong bound, or a store that does not notify changes
 */
export function tiered(near: Omit<NearOptions, 'values'>, far: Store): Store {
  if (far?.watch === undefined) {
    throw new TypeError('Expected a store that tells what goes, such as redisStore(client), behind the near tier')
  }
  return new Tiered({ ...checkedNear('near', near), values: 'shared' }, far, far.watch.bind(far))
}

class Tiered implements Store {
  readonly sharded: boolean
  readonly connected: Promise<void> | undefined
  readonly clock: Clock | undefined
  readonly inspection?: Inspection
  readonly #plan: NearPlan
  readonly #far: Store
  readonly #watch: NonNullable<Store['watch']>
  /** By namespace. */
  readonly #tiers = new Map<string, Near>()
  #users = 0

  constructor(plan: NearPlan, far: Store, watch: NonNullable<Store['watch']>) {
    this.#plan = plan
    this.#far = far
    this.#watch = watch
    this.sharded = far.sharded
    this.connected = far.connected
    this.clock = far.clock
    if (far.inspection !== undefined) this.inspection = far.inspection
  }

  async read(key: string, tags?: readonly string[]): Promise<Entry | null> {
    const near = this.#near(key)
    const copy = near.get(key, plainKind)
    if (copy !== undefined) {
      const { payload, token, version, loadTime, validators, staleFor, tags: its } = copy.value as Entry
      const { age, freshFor } = near.aged(copy)
      const older = copy.seen.freshFor - freshFor
      return { payload, token, version, loadTime, validators, tags: its, age, freshFor, staleFor: staleFor - older }
    }
    const expected = near.expect(key)
    try {
      const entry = await this.#far.read(key, tags)
      near.found(key, expected, entry && { entry, value: copyOf(entry), kind: plainKind })
      return entry
    } finally {
      near.forgo(key, expected)
    }
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const claim = await this.#far.claim(request)
    // A process that has learned of a new value must not serve an older copy.
    const heard = <T>(of: T): T => (this.#near(request.key).forget(request.key), of)
    return claim.state === 'wait' ? { ...claim, outcome: claim.outcome.then(heard) } : heard(claim)
  }

  async fill(lease: Lease, value: NewValue): Promise<boolean> {
    const filled = await this.#far.fill(lease, value)
    this.#near(lease.key).forget(lease.key)
    return filled
  }

  async set(key: string, token: string, value: NewValue, within?: number): Promise<void> {
    this.#near(key).forget(key)
    await this.#far.set(key, token, value, within)
  }

  async invalidate(key: string, how?: Invalidation): Promise<void> {
    this.#near(key).forget(key)
    await this.#far.invalidate(key, how)
  }

  async invalidateTags(tags: readonly string[], how?: Invalidation): Promise<void> {
    this.#near(tags[0] ?? '').dropTags(tags)
    await this.#far.invalidateTags(tags, how)
  }

  fail(lease: Lease, failure: Failure, cooldown: number, tags?: readonly string[]): Promise<boolean> {
    return this.#far.fail(lease, failure, cooldown, tags)
  }

  pass(lease: Lease, duration: number): Promise<boolean> {
    return this.#far.pass(lease, duration)
  }

  release(lease: LeaseName): Promise<boolean> {
    return this.#far.release(lease)
  }

  renew(leases: readonly Lease[]): Promise<boolean>[] {
    return this.#far.renew(leases)
  }

  refused(rejection: unknown): boolean {
    return this.#far.refused?.(rejection) ?? false
  }

  diagnose(rejection?: unknown): Diagnosis | null {
    return this.#far.diagnose?.(rejection) ?? null
  }

  watch(namespace: string, copies: Copies): Watch {
    return this.#watch(namespace, copies)
  }

  ping(): Promise<void> {
    return this.#far.ping()
  }

  open(user?: StoreUser): void {
    this.#users++
    this.#far.open(user)
  }

  async close(user?: StoreUser): Promise<void> {
    if (--this.#users === 0) {
      for (const near of this.#tiers.values()) near.close()
      this.#tiers.clear()
    }
    await this.#far.close(user)
  }

  #near(name: string): Near {
    const namespace = namespaceOf(name)
    const known = this.#tiers.get(namespace)
    if (known !== undefined) return known
    const watch = (_: string, copies: Copies): Watch => this.#watch(namespace, copies)
    // The keys here are the store's full names.
    const keyspace = { prefix: '', keyIn: (full: string) => full }
    const shared = { keyspace, clock: this.clock ?? systemClock, codec: jsonCodec(), events: new Events() }
    const near = new Near(this.#plan, watch, shared)
    this.#tiers.set(namespace, near)
    return near
  }
}

/** A copy of the entry: its bytes are a slice of the connection's larger buffer, which it would keep alive. */
function copyOf({ payload, token, version, age, freshFor, staleFor, loadTime, tags, validators }: Entry): Entry {
  return { payload: Buffer.from(payload), token, version, age, freshFor, staleFor, loadTime, tags, validators }
}
