import type { NamedLease } from '../held.ts'
import { plain } from '../terminal.ts'
import { many, time } from '../units.ts'
import type { Snapshot } from './snapshot.ts'

/** For how long a key is shown after its load has ended, in milliseconds. */
const kept = 10_000

/** A key that is being loaded, or was a moment ago. */
export interface WatchedKey {
  /** The last load that was seen. */
  readonly lease: NamedLease
  /** How many loads of the key were seen, one after the other. */
  readonly loads: number
  /** The most processes that were seen to wait for it. */
  readonly peak: number
  /** When its load was over, in milliseconds since 1970; `null` while it is under way. */
  readonly endedAt: number | null
}

/** What a watch has seen: each key until some time after its load has ended, and the peak of all. */
export class History {
  #keys: ReadonlyMap<string, WatchedKey> = new Map()
  #begunAt: number | null = null
  #now = 0
  #ended = 0
  #most = 0
  #herd: { readonly key: WatchedKey; readonly at: string } | null = null

  add({ time: moment, loads, ended, leases }: Snapshot): void {
    this.#now = Date.parse(moment)
    this.#begunAt ??= this.#now
    this.#ended += ended
    this.#most = Math.max(this.#most, loads)
    const keys = new Map(leases.map((lease) => [nameOf(lease), this.#seen(lease)]))
    for (const key of keys.values()) {
      if (key.peak > (this.#herd?.key.peak ?? 0)) this.#herd = { key, at: moment }
    }
    for (const [name, before] of this.#keys) {
      const endedAt = before.endedAt ?? this.#now
      if (!keys.has(name) && this.#now - endedAt < kept) keys.set(name, { ...before, endedAt })
    }
    this.#keys = keys
  }

  #seen(lease: NamedLease): WatchedKey {
    const before = this.#keys.get(nameOf(lease))
    const isAnother = before?.lease.token !== lease.token
    return {
      lease,
      loads: (before?.loads ?? 0) + (isAnother ? 1 : 0),
      peak: Math.max(before?.peak ?? 0, lease.waiting ?? 0),
      endedAt: null,
    }
  }

  /** Those under way in the order of the snapshot, then the others, of which the last to end comes first. */
  get keys(): readonly WatchedKey[] {
    const all = [...this.#keys.values()]
    const over = all.filter(({ endedAt }) => endedAt !== null)
    return [
      ...all.filter(({ endedAt }) => endedAt === null),
      ...over.toSorted((one, other) => (other.endedAt ?? 0) - (one.endedAt ?? 0)),
    ]
  }

  /** The time of the last snapshot, in milliseconds since 1970. */
  get now(): number {
    return this.#now
  }

  /** What stays of the watch, in sentences. */
  get summary(): string {
    const watched = `Watched for ${time(this.#now - (this.#begunAt ?? this.#now))}`
    if (this.#most === 0) return `${watched}: nothing was loaded`
    const all = `${watched}: at most ${many(this.#most, 'load')} at once, and ${many(this.#ended, 'load')} ended.`
    if (this.#herd === null) return `${all} No process waited for another.`
    const { lease, peak } = this.#herd.key
    const herd = `${many(peak, 'process', 'processes')} waited for ${plain(`${lease.namespace} ${JSON.stringify(lease.key)}`)}`
    return `${all} At its peak, ${herd} at ${clock(this.#herd.at)}.`
  }
}

/** A moment in ISO 8601 as the time of the day here. */
export function clock(moment: string): string {
  return new Date(moment).toTimeString().slice(0, 8)
}

function nameOf({ namespace, key, version }: NamedLease): string {
  return JSON.stringify([namespace, key, version])
}
