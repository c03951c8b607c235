/*
 * The store in memory: the lease protocol without a server, for one process and for tests.
 *
 * Reading order: store.ts (the protocol), held-lease.ts (its records), tags.ts, inspection.ts; lock.ts for locks;
 * memory-store.ts and memory-lock.ts (the public functions and their options).
 */
import { LRUCache } from 'lru-cache'
import { microseconds, type Clock } from '../core/time/clock.ts'
import type { Failure } from '../core/errors.ts'
import { decideClaim } from '../core/contract/claim-decision.ts'
import { seen, softened, type StoredValue } from '../key-value/record.ts'
import { asInvalidated, isTouched, isVoid, withinOf } from '../core/entry/tags.ts'
import type {
  Claim,
  ClaimRequest,
  Copies,
  Entry,
  Invalidation,
  Lease,
  LeaseName,
  NearPlan,
  NewValue,
  Outcome,
  Renewed,
  Store,
  Watch,
} from '../core/contract/store.ts'
import type { MemoryLease, Rest } from './held-lease.ts'
import { MemoryInspection } from './inspection.ts'
import { MemoryPermits } from './permits.ts'
import { MemoryTags } from './tags.ts'

/** The lease protocol in the memory of this process. */
export class MemoryStore implements Store {
  readonly sharded = false
  readonly near: NearPlan | undefined
  readonly inspection: MemoryInspection
  readonly clock: Clock
  readonly permits: MemoryPermits
  readonly #values: LRUCache<string, StoredValue>
  readonly #held = new Map<string, MemoryLease>()
  readonly #resting: LRUCache<string, Rest>
  readonly #tags: MemoryTags
  readonly #copies = new Map<Copies, string>()
  #version = 0

  /** @param near the bounds, which hold for the values and for the copies of each cache, and how values are given */
  constructor(near: NearPlan, clock: Clock) {
    this.clock = clock
    this.near = near
    this.permits = new MemoryPermits(clock)
    const { max, maxSize } = near
    const sizeCalculation = (value: StoredValue, key: string): number => value.payload.byteLength + 2 * key.length + 64
    this.#values = new LRUCache<string, StoredValue>({ max, maxSize, sizeCalculation })
    this.#resting = new LRUCache<string, Rest>({ max })
    this.#tags = new MemoryTags(max, clock)
    const [values, held, resting, tags] = [this.#values, this.#held, this.#resting, this.#tags]
    this.inspection = new MemoryInspection({
      values,
      held,
      resting,
      tags,
      clock,
      voidLoad: (key) => this.#voidLoad(key),
    })
  }

  async read(key: string): Promise<Entry | null> {
    const value = this.#values.get(key)
    if (value === undefined) return null
    const now = this.clock.now()
    return asInvalidated(seen(value, now), this.#tags.endsOf(value), now)
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const { key, token, leaseTtl, holder = '', context } = request
    const now = this.clock.now()
    const value = this.#valueNow(key)
    const held = this.#heldNow(key, now)
    const rest = this.#restNow(key)
    const decision = decideClaim({ value, held, rest }, request, now)
    if (decision === 'fresh' && value !== undefined) return { state: 'fresh', entry: seen(value, now) }
    const stale = value !== undefined && value.staleUntil > now ? seen(value, now) : null
    if (decision === 'wait' && held !== undefined) {
      held.isUrgent ||= request.urgent === true
      return this.#wait(held, now, stale)
    }
    if (decision === 'rest' && rest !== undefined) {
      return rest.outcome.state === 'pass' ? rest.outcome : { ...rest.outcome, stale }
    }
    this.#resting.delete(key)
    const version = held?.version ?? (this.#version = Math.max(microseconds(this.clock), this.#version + 1))
    let tellHolder!: () => void
    const lost = new Promise<void>((resolve) => (tellHolder = resolve))
    const since = held?.since ?? this.#tags.now
    const waiters = held?.waiters ?? new Set()
    const { grantedAt, renewals, isUrgent } = held ?? { grantedAt: now, renewals: 0, isUrgent: false }
    const until = now + leaseTtl
    const lease = { token, version, since, holder, context, grantedAt, renewals, until, isUrgent, waiters, tellHolder }
    this.#held.set(key, lease)
    return { state: 'lease', lease: { key, token, ttl: leaseTtl, fence: BigInt(version), lost }, stale }
  }

  async fill(lease: Lease, value: NewValue): Promise<boolean> {
    const { key, token } = lease
    const held = this.#ours(lease)
    if (held === null) return this.#values.peek(key)?.token === token
    if (!this.#tags.mark(value.tags ?? [], held.since)) {
      this.#end(key, held, { state: 'again' })
      return false
    }
    const written = this.#write(key, { token, version: held.version, since: held.since }, value)
    // Waiters get the value even if it is too large to be kept.
    this.#end(key, held, { state: 'filled', entry: seen(written, written.writtenAt) })
    return true
  }

  async fail(lease: Lease, failure: Failure, cooldown: number, tags: readonly string[] = []): Promise<boolean> {
    return this.#endWithout(lease, { state: 'failed', failure }, cooldown, tags)
  }

  async pass(lease: Lease, duration: number): Promise<boolean> {
    return this.#endWithout(lease, { state: 'pass' }, duration, [])
  }

  async release(lease: LeaseName): Promise<boolean> {
    const held = this.#ours(lease)
    if (held !== null) this.#end(lease.key, held, { state: 'again' })
    return held !== null
  }

  renew(leases: readonly Lease[]): Promise<Renewed>[] {
    return leases.map(async (lease) => {
      const held = this.#ours(lease)
      if (held === null) return false
      held.until = this.clock.now() + lease.ttl
      held.renewals++
      return held.isUrgent ? 'urgent' : true
    })
  }

  async set(key: string, token: string, value: NewValue): Promise<void> {
    this.#void(key)
    this.#version = Math.max(microseconds(this.clock), this.#version + 1)
    this.#tags.mark(value.tags ?? [], this.#tags.now)
    this.#write(key, { token, version: this.#version, since: this.#tags.now }, value)
  }

  async invalidate(key: string, how: Invalidation = 'hard'): Promise<void> {
    this.#void(key)
    const value = how === 'hard' ? undefined : this.#values.peek(key)
    const now = this.clock.now()
    if (value === undefined) this.#values.delete(key)
    else this.#values.set(key, softened(value, now, now + withinOf(how)))
    this.#dropped(key)
  }

  async invalidateTags(tags: readonly string[], how: Invalidation = 'hard'): Promise<void> {
    this.#tags.invalidate(tags, how)
    for (const [copies, namespace] of this.#copies) {
      const own = tags.filter((tag) => tag.startsWith(namespace))
      if (own.length > 0) copies.dropTags(own)
    }
  }

  watch(namespace: string, copies: Copies): Watch {
    this.#copies.set(copies, namespace)
    const close = (): void => void this.#copies.delete(copies)
    return { until: Number.POSITIVE_INFINITY, keep: () => undefined, close }
  }

  async ping(): Promise<void> {}

  open(): void {}

  async close(): Promise<void> {}

  /** The value as invalidations of its tags leave it; `undefined` if there is none, or it is void. */
  #valueNow(key: string): StoredValue | undefined {
    const value = this.#values.get(key)
    if (value === undefined) return undefined
    const ends = this.#tags.endsOf(value)
    if (!isTouched(ends)) return value
    const at = Math.min(ends.ttl / 1_000, this.clock.now())
    return isVoid(ends) ? undefined : softened(value, at, ends.life / 1_000)
  }

  #write(
    key: string,
    { token, version, since }: Pick<StoredValue, 'token' | 'version' | 'since'>,
    written: NewValue,
  ): StoredValue {
    const { payload, ttl, grace, loadTime, tags = [], validators = null } = written
    const writtenAt = this.clock.now()
    const freshUntil = writtenAt + ttl
    // A copy: the stored bytes must not change with the caller's buffer.
    const kept = Buffer.from(payload)
    // Without a spread, which would make it several times as large.
    const value = {
      token,
      version,
      since,
      payload: kept,
      loadTime,
      tags,
      validators,
      writtenAt,
      freshUntil,
      staleUntil: freshUntil + grace,
    }
    this.#values.set(key, value)
    this.#dropped(key)
    return value
  }

  #dropped(key: string): void {
    for (const [copies, namespace] of this.#copies) if (key.startsWith(namespace)) copies.drop([key])
  }

  #wait(held: MemoryLease, now: number, stale: Entry | null): Claim {
    let enlisted!: (outcome: Outcome) => void
    const outcome = new Promise<Outcome>((resolve) => (enlisted = resolve))
    held.waiters.add(enlisted)
    const leave = (): void => void held.waiters.delete(enlisted)
    const { token, context, until } = held
    return { state: 'wait', token, context, stale, outcome, pushed: true, leaseLeft: until - now, leave }
  }

  #heldNow(key: string, now: number): MemoryLease | undefined {
    const held = this.#held.get(key)
    if (held === undefined || held.until > now) return held
    this.#held.delete(key)
    return undefined
  }

  #ours({ key, token }: LeaseName): MemoryLease | null {
    const held = this.#heldNow(key, this.clock.now())
    return held?.token === token ? held : null
  }

  #end(key: string, held: MemoryLease, outcome: Outcome): void {
    this.#held.delete(key)
    for (const tell of held.waiters) tell(outcome)
  }

  /** The outcome of the last load, unless a tag has voided it. */
  #restNow(key: string): Rest | undefined {
    const rest = this.#resting.get(key)
    return rest !== undefined && isTouched(this.#tags.endsOf(rest)) ? undefined : rest
  }

  #endWithout(lease: Lease, outcome: Rest['outcome'], duration: number, tags: readonly string[]): boolean {
    const { key, token } = lease
    const held = this.#ours(lease)
    if (held === null) return this.#resting.peek(key)?.token === token
    const { since } = held
    if (!this.#tags.mark(tags, since)) {
      this.#end(key, held, { state: 'again' })
      return false
    }
    // Kept even if it is no answer any more, because the command may be sent twice.
    this.#resting.set(key, { outcome, token, tags, since, until: this.clock.now() + duration })
    this.#end(key, held, outcome)
    return true
  }

  #void(key: string): void {
    this.#resting.delete(key)
    this.#voidLoad(key)
  }

  #voidLoad(key: string): void {
    const held = this.#held.get(key)
    if (held === undefined) return
    this.#end(key, held, { state: 'again' })
    held.tellHolder()
  }
}
