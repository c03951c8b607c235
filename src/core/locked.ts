import type { Failure } from './errors.ts'
import { shown } from './duration.ts'
import type { Lock, LockLease } from './lock.ts'
import { shortName } from './short-name.ts'
import { bytesOf, endOf, entryOf, recordFrom, seen, type KeyRecord } from './record.ts'
import type { Claim, ClaimRequest, Entry, Lease, NewValue, Store } from './store.ts'

/** What is used of a key-value store. */
export interface KeyValue {
  /** What was set last and has not been forgotten; `null` or `undefined` if there is nothing. */
  get(key: string): Promise<Uint8Array | null | undefined>
  /** @param ttl after how many milliseconds it may be forgotten; not before that, unless memory is short */
  set(key: string, value: Uint8Array, ttl: number): Promise<unknown>
}

/** A record is kept for so much longer than it matters, in milliseconds: what has just happened may be asked once more. */
const remembered = 1_000

/** How long the lock of a key is asked for, in milliseconds: for one get and one set. */
const ttl = 10_000

/** For how long the lock must still be ours when a record is written, in milliseconds. */
const margin = 1_000

/**
 * A store made of any key-value store, guarded by any lock: what must be done in one step is done under the lock of the
 * key. A hit costs one get, whatever else two commands of the lock, a get and a set; whoever waits for a load asks again.
 * @param lock excludes all processes that share the key-value store; it stays yours
 * @throws TypeError for something that is neither
 */
export function locked(keyValue: KeyValue, lock: Lock): Store {
  for (const method of ['get', 'set'] as const) {
    if (typeof (keyValue as KeyValue | null)?.[method] !== 'function') {
      throw new TypeError(`Expected a key-value store with get() and set(), got ${shown(keyValue)}`)
    }
  }
  if (typeof (lock as Lock | null)?.run !== 'function') throw new TypeError(`Expected a lock, got ${shown(lock)}`)
  return new LockedStore(keyValue, lock)
}

/** What is to become of a record, and the answer. `null`: it stays as it is. */
interface Change<T> {
  readonly record: KeyRecord | null
  readonly answer: T
}

class LockedStore implements Store {
  readonly sharded = false
  readonly #keyValue: KeyValue
  readonly #lock: Lock

  constructor(keyValue: KeyValue, lock: Lock) {
    this.#keyValue = keyValue
    this.#lock = lock
  }

  async read(key: string): Promise<Entry | null> {
    return entryOf(recordFrom(await this.#keyValue.get(key)), Date.now())
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.#change(request.key, (record, now) => claimed(record, now, request))
  }

  fill(lease: Lease, value: NewValue): Promise<boolean> {
    return this.#change(lease.key, (record, now) => {
      if (!isHeldBy(record, lease, now)) return { record: null, answer: record.value?.token === lease.token }
      return { record: written(Number(lease.fence), lease.token, value, now), answer: true }
    })
  }

  fail(lease: Lease, failure: Failure, cooldown: number): Promise<boolean> {
    return this.#endWithout(lease, failure, cooldown)
  }

  pass(lease: Lease, duration: number): Promise<boolean> {
    return this.#endWithout(lease, null, duration)
  }

  release(lease: Lease): Promise<boolean> {
    return this.#change(lease.key, (record, now) => {
      if (!isHeldBy(record, lease, now)) return { record: null, answer: false }
      return { record: { ...record, held: undefined }, answer: true }
    })
  }

  renew(leases: readonly Lease[]): Promise<boolean>[] {
    return leases.map((lease) =>
      this.#change(lease.key, (record, now) => {
        if (!isHeldBy(record, lease, now)) return { record: null, answer: false }
        return { record: { ...record, held: { token: lease.token, until: now + lease.ttl } }, answer: true }
      }),
    )
  }

  set(key: string, token: string, value: NewValue, within: number = Number.POSITIVE_INFINITY): Promise<void> {
    const sentAt = performance.now()
    return this.#change<void>(key, (record, now) => {
      const version = nextVersion(record, now)
      const late = performance.now() - sentAt > within
      return { record: late ? { version } : written(version, token, value, now), answer: undefined }
    })
  }

  invalidate(key: string): Promise<void> {
    return this.#change<void>(key, (record) => ({ record: { version: record.version }, answer: undefined }))
  }

  async ping(): Promise<void> {
    await this.#keyValue.get('herdless:ping')
  }

  open(): void {}

  async close(): Promise<void> {}

  #endWithout(lease: Lease, failure: Failure | null, duration: number): Promise<boolean> {
    return this.#change(lease.key, (record, now) => {
      if (!isHeldBy(record, lease, now)) return { record: null, answer: record.rest?.token === lease.token }
      const rest = { token: lease.token, until: now + duration, failure }
      return { record: { ...record, held: undefined, rest }, answer: true }
    })
  }

  /** Reads a record, and writes what is to become of it, while nobody else does. */
  #change<T>(key: string, change: (record: KeyRecord, now: number) => Change<T>): Promise<T> {
    const work = async (lease: LockLease): Promise<T> => {
      const { record, answer } = change(recordFrom(await this.#keyValue.get(key)), Date.now())
      if (record === null) return answer
      lease.assertValid(margin)
      await this.#keyValue.set(key, bytesOf(record), Math.max(0, endOf(record) - Date.now()) + remembered)
      return answer
    }
    return this.#lock.run(shortName(`cache:${key}`), work, { ttl })
  }
}

function claimed(record: KeyRecord, now: number, request: ClaimRequest): Change<Claim> {
  const { key, token, leaseTtl, unwanted, awaited } = request
  const { value, held, rest } = record
  if (value !== undefined && value.token !== unwanted && (value.token === awaited || value.freshUntil > now)) {
    return { record: null, answer: { state: 'fresh', entry: seen(value, now) } }
  }
  const stale = entryOf(record, now)
  if (held !== undefined && held.until > now && held.token !== token) {
    const nothing = (): void => undefined
    const wait = { outcome: new Promise<never>(nothing), pushed: false, leaseLeft: held.until - now, leave: nothing }
    return { record: null, answer: { state: 'wait', token: held.token, stale, ...wait } }
  }
  if (rest !== undefined && rest.until > now && held === undefined) {
    const { failure } = rest
    return { record: null, answer: failure === null ? { state: 'pass' } : { state: 'failed', failure, stale } }
  }
  const version = held?.token === token ? record.version : nextVersion(record, now)
  const lost = new Promise<void>(() => undefined)
  return {
    record: { version, value, held: { token, until: now + leaseTtl } },
    answer: { state: 'lease', lease: { key, token, ttl: leaseTtl, fence: BigInt(version), lost }, stale },
  }
}

function written(version: number, token: string, value: NewValue, now: number): KeyRecord {
  const { ttl: freshFor, grace, loadTime } = value
  const payload = Buffer.from(value.payload)
  const freshUntil = now + freshFor
  return {
    version,
    value: { token, version, loadTime, writtenAt: now, freshUntil, staleUntil: freshUntil + grace, payload },
  }
}

function isHeldBy({ held }: KeyRecord, { token }: Lease, now: number): boolean {
  return held !== undefined && held.token === token && held.until > now
}

function nextVersion({ version }: KeyRecord, now: number): number {
  return Math.max(now * 1_000, version + 1)
}
