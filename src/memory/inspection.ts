import type { LRUCache } from 'lru-cache'
import type { Clock } from '../core/time/clock.ts'
import { seen, type StoredValue } from '../key-value/record.ts'
import { inspected, isTouched } from '../core/entry/tags.ts'
import type { Inspection, Seen, SeenLease } from '../core/contract/store.ts'
import type { MemoryLease, Rest } from './held-lease.ts'
import type { MemoryTags } from './tags.ts'

/** The parts of a store in memory. */
interface Kept {
  readonly values: LRUCache<string, StoredValue>
  readonly held: Map<string, MemoryLease>
  readonly resting: LRUCache<string, Rest>
  readonly tags: MemoryTags
  readonly clock: Clock
  /** Ends the load of a key, and tells its holder. */
  readonly voidLoad: (key: string) => void
}

const nothing = { entry: null, voidedBy: [], softenedBy: [] }

/** The operations of operators on a store in memory. */
export class MemoryInspection implements Inspection {
  readonly #kept: Kept

  constructor(kept: Kept) {
    this.#kept = kept
  }

  async look(key: string): Promise<Seen> {
    const { values, resting, tags, clock } = this.#kept
    const now = clock.now()
    // Peek, because an inspection is no use in the sense of the LRU order.
    const value = values.peek(key)
    const rest = resting.peek(key)
    const left = rest === undefined ? 0 : rest.until - now
    const failure = rest?.outcome.state === 'failed' ? rest.outcome.failure : null
    return {
      ...(value === undefined ? nothing : inspected(seen(value, now), value.since, tags.epochs(value.tags), now)),
      lease: this.#lease(key, now),
      rest: rest !== undefined && left > 0 && !isTouched(tags.endsOf(rest)) ? { failure, left } : null,
    }
  }

  async *leases(prefix: string): AsyncGenerator<readonly SeenLease[], void> {
    const keys = [...this.#kept.held.keys()].filter((key) => key.startsWith(prefix))
    yield keys.flatMap((key) => this.#lease(key, this.#kept.clock.now()) ?? [])
  }

  async *names(prefix: string, of: 'loads' | 'values'): AsyncGenerator<readonly string[], void> {
    const { values, held, resting } = this.#kept
    const names = of === 'values' ? [...values.keys()] : [...held.keys(), ...resting.keys()]
    yield names.filter((name) => name.startsWith(prefix))
  }

  async breakLease(key: string, token: string): Promise<boolean> {
    if (this.#lease(key, this.#kept.clock.now())?.token !== token) return false
    this.#kept.voidLoad(key)
    return true
  }

  #lease(key: string, now: number): SeenLease | null {
    const held = this.#kept.held.get(key)
    if (held === undefined || held.until <= now) return null
    const { token, version, holder, context = '', grantedAt, renewals, until, waiters } = held
    const times = { age: now - grantedAt, left: until - now }
    return { key, token, fence: BigInt(version), holder, context, ...times, renewals, waiting: waiters.size }
  }
}
