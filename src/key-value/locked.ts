/*
 * Room: key-value. A store made of any key-value store and any lock, for backends without scripts or pub/sub.
 *
 * Reading order: locked.ts (the store), locked-tags.ts (its tags), record.ts (the record of a key, and its bytes).
 */
import type { Failure } from '../core/errors.ts'
import { formatValue } from '../core/time/duration.ts'
import {
  type KeyValue,
  bytesOf,
  endOf,
  entryOf,
  lookedAt,
  recordFrom,
  seen,
  softened,
  type KeyRecord,
  type RestRecord,
  type StoredValue,
} from './record.ts'
import { LockedTags, margin, ttl } from './locked-tags.ts'
import { decideClaim } from '../core/contract/claim-decision.ts'
import type { Lock, LockLease } from '../core/contract/lock.ts'
import { shortName } from '../core/entry/key.ts'
import { asInvalidated, isTouched, isVoid, withinOf } from '../core/entry/tags.ts'
import type {
  Claim,
  ClaimRequest,
  Entry,
  Inspection,
  Invalidation,
  Lease,
  LeaseName,
  NewValue,
  Store,
} from '../core/contract/store.ts'

/**
 * How much longer a record is kept than it matters, in milliseconds: a repeated command may ask for its last outcome.
 */
const remembered = 1_000

/**
 * A store made of any key-value store and any lock: each atomic step runs under the lock of its key. A hit costs one
 * get; every other command costs two commands of the lock, a get and a set. Waiters poll.
 * @param keyValue stays open when the store closes
 * @param lock must be shared by all processes that share the key-value store; stays open when the store closes
 * @throws TypeError for another kind of object
 */
export function locked(keyValue: KeyValue, lock: Lock): Store {
  for (const method of ['get', 'set'] as const) {
    if (typeof (keyValue as KeyValue | null)?.[method] !== 'function') {
      throw new TypeError(`Expected a key-value store with get() and set(), got ${formatValue(keyValue)}`)
    }
  }
  if (typeof (lock as Lock | null)?.run !== 'function') throw new TypeError(`Expected a lock, got ${formatValue(lock)}`)
  return new LockedStore(keyValue, lock)
}

/** A record to write, or `null` to leave it unchanged, and the result of the command. */
interface Change<T> {
  readonly record: KeyRecord | null
  readonly result: T
}

class LockedStore implements Store {
  readonly sharded = false
  readonly inspection: Inspection
  readonly #keyValue: KeyValue
  readonly #lock: Lock
  readonly #tags: LockedTags

  constructor(keyValue: KeyValue, lock: Lock) {
    this.#keyValue = keyValue
    this.#lock = lock
    this.#tags = new LockedTags(keyValue, lock)
    this.inspection = {
      look: async (key) => {
        const record = recordFrom(await keyValue.get(key))
        const rest = await this.#restNow(record)
        const epochs = await this.#tags.epochs(record.value?.tags ?? [])
        return lookedAt(key, { ...record, rest }, epochs, Date.now())
      },
      breakLease: (key, token) => this.#giveUp(key, token),
    }
  }

  async read(key: string): Promise<Entry | null> {
    const record = recordFrom(await this.#keyValue.get(key))
    const now = Date.now()
    const entry = entryOf(record, now)
    return entry === null ? null : asInvalidated(entry, await this.#tags.endsOf(record.value), now)
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.#change(request.key, async (record, now) => {
      // The epoch from before the load, so that every invalidation from here on voids the load.
      const since = await this.#tags.now(request.key)
      const value = await this.#valueNow(record, now)
      const rest = await this.#restNow(record)
      return claimed({ ...record, value, rest }, now, request, since)
    })
  }

  fill(lease: Lease, value: NewValue): Promise<boolean> {
    const { tags = [], ttl: fresh, grace } = value
    return this.#change<boolean>(lease.key, async (record, now) => {
      if (!isHeldBy(record, lease, now)) return { record: null, result: record.value?.token === lease.token }
      const since = record.held.since
      if (tags.length > 0 && !(await this.#tags.mark(tags, since, fresh + grace))) {
        return { record: { ...record, held: undefined }, result: false }
      }
      return { record: written({ version: Number(lease.fence), token: lease.token, since, now }, value), result: true }
    })
  }

  fail(lease: Lease, failure: Failure, cooldown: number, tags: readonly string[] = []): Promise<boolean> {
    return this.#endWithout(lease, failure, cooldown, tags)
  }

  pass(lease: Lease, duration: number): Promise<boolean> {
    return this.#endWithout(lease, null, duration, [])
  }

  release({ key, token }: LeaseName): Promise<boolean> {
    return this.#giveUp(key, token)
  }

  #giveUp(key: string, token: string): Promise<boolean> {
    return this.#change(key, (record, now) => {
      if (!isHeldBy(record, { token }, now)) return { record: null, result: false }
      return { record: { ...record, held: undefined }, result: true }
    })
  }

  renew(leases: readonly Lease[]): Promise<boolean>[] {
    return leases.map((lease) =>
      this.#change(lease.key, (record, now) => {
        if (!isHeldBy(record, lease, now)) return { record: null, result: false }
        const held = { ...record.held, until: now + lease.ttl, renewals: (record.held.renewals ?? 0) + 1 }
        return { record: { ...record, held }, result: true }
      }),
    )
  }

  set(key: string, token: string, value: NewValue, within: number = Number.POSITIVE_INFINITY): Promise<void> {
    const sentAt = performance.now()
    const { tags = [], ttl: fresh, grace } = value
    return this.#change<void>(key, async (record, now) => {
      const version = nextVersion(record, now)
      const since = await this.#tags.now(key)
      const good = tags.length === 0 || (await this.#tags.mark(tags, since, fresh + grace))
      const late = performance.now() - sentAt > within
      return { record: late || !good ? { version } : written({ version, token, since, now }, value), result: undefined }
    })
  }

  invalidate(key: string, how: Invalidation = 'hard'): Promise<void> {
    return this.#change<void>(key, ({ version, value }, now) => {
      const kept = how === 'hard' || value === undefined ? {} : { value: softened(value, now, now + withinOf(how)) }
      return { record: { version, ...kept }, result: undefined }
    })
  }

  invalidateTags(tags: readonly string[], how: Invalidation = 'hard'): Promise<void> {
    return this.#tags.invalidate(tags, how)
  }

  async ping(): Promise<void> {
    await this.#keyValue.get('herdless:ping')
  }

  open(): void {}

  async close(): Promise<void> {}

  #endWithout(lease: Lease, failure: Failure | null, duration: number, tags: readonly string[]): Promise<boolean> {
    return this.#change<boolean>(lease.key, async (record, now) => {
      if (!isHeldBy(record, lease, now)) return { record: null, result: record.rest?.token === lease.token }
      const { since } = record.held
      if (tags.length > 0 && !(await this.#tags.mark(tags, since, duration))) {
        return { record: { ...record, held: undefined }, result: false }
      }
      const rest = { token: lease.token, until: now + duration, failure, ...(tags.length > 0 && { tags, since }) }
      return { record: { ...record, held: undefined, rest }, result: true }
    })
  }

  /** The value as invalidations of its tags leave it; `undefined` if there is none, or it is void. */
  async #valueNow({ value }: KeyRecord, now: number): Promise<StoredValue | undefined> {
    const ends = await this.#tags.endsOf(value)
    if (value === undefined || !isTouched(ends)) return value
    return isVoid(ends) ? undefined : softened(value, Math.min(ends.ttl / 1_000, now), ends.life / 1_000)
  }

  /** The outcome of the last load, unless a tag has voided it. */
  async #restNow({ rest }: KeyRecord): Promise<RestRecord | undefined> {
    if (rest === undefined) return rest
    const { tags = [], since = 0 } = rest
    return isTouched(await this.#tags.endsOf({ tags, since })) ? undefined : rest
  }

  /**
   * Reads a record and writes its successor under the lock of the key. The race that the check before the write
   * survives, with processes A and B:
   *
   * 1. A locks a key for 10 s to fill it, and reads the record: A's lease is still in it.
   * 2. A is paused for longer than those 10 s.
   * 3. B locks the key, invalidates it, and unlocks it. B's call resolves.
   * 4. A continues. Its write would bring the old value back, so it checks the lock first, and rejects.
   *
   * A pause between the check and the write is not covered, because a plain key-value store knows no fencing tokens.
   * The margin covers the time that the write itself takes.
   */
  #change<T>(key: string, change: (record: KeyRecord, now: number) => Change<T> | Promise<Change<T>>): Promise<T> {
    const work = async (lease: LockLease): Promise<T> => {
      const { record, result } = await change(recordFrom(await this.#keyValue.get(key)), Date.now())
      if (record === null) return result
      lease.assertValid(margin)
      await this.#keyValue.set(key, bytesOf(record), Math.max(0, endOf(record) - Date.now()) + remembered)
      return result
    }
    return this.#lock.run(shortName(`cache:${key}`), work, { ttl })
  }
}

function claimed(record: KeyRecord, now: number, request: ClaimRequest, epoch: number): Change<Claim> {
  const { key, token, leaseTtl, holder = '', context } = request
  const { value, held, rest } = record
  const decision = decideClaim(record, request, now)
  if (decision === 'fresh' && value !== undefined) {
    return { record: null, result: { state: 'fresh', entry: seen(value, now) } }
  }
  const stale = entryOf(record, now)
  if (decision === 'wait' && held !== undefined) {
    const nothing = (): void => undefined
    const wait = { outcome: new Promise<never>(nothing), pushed: false, leaseLeft: held.until - now, leave: nothing }
    return { record: null, result: { state: 'wait', token: held.token, context: held.context, stale, ...wait } }
  }
  if (decision === 'rest' && rest !== undefined) {
    const { failure } = rest
    return { record: null, result: failure === null ? { state: 'pass' } : { state: 'failed', failure, stale } }
  }
  const own = decision === 'again' ? held : undefined
  const version = own === undefined ? nextVersion(record, now) : record.version
  const granted = own ?? { grantedAt: now, renewals: 0 }
  const lost = new Promise<void>(() => undefined)
  const lease = { ...granted, token, until: now + leaseTtl, since: own?.since ?? epoch, holder, context }
  return {
    record: { version, value, held: lease },
    result: { state: 'lease', lease: { key, token, ttl: leaseTtl, fence: BigInt(version), lost }, stale },
  }
}

function written(
  { version, token, since, now }: { version: number; token: string; since: number; now: number },
  value: NewValue,
): KeyRecord {
  const { ttl: freshFor, grace, loadTime, tags = [], validators = null } = value
  const payload = Buffer.from(value.payload)
  const freshUntil = now + freshFor
  return {
    version,
    value: {
      token,
      version,
      loadTime,
      tags,
      validators,
      since,
      writtenAt: now,
      freshUntil,
      staleUntil: freshUntil + grace,
      payload,
    },
  }
}

function isHeldBy(
  record: KeyRecord,
  { token }: Pick<Lease, 'token'>,
  now: number,
): record is KeyRecord & { held: NonNullable<KeyRecord['held']> } {
  const { held } = record
  return held !== undefined && held.token === token && held.until > now
}

function nextVersion({ version }: KeyRecord, now: number): number {
  return Math.max(now * 1_000, version + 1)
}
