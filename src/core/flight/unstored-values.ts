import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Entry } from '../contract/store.ts'
import type { Clock } from '../time/clock.ts'

/** The most keys that are remembered. */
const most = 10_000

interface Unstored {
  /** When its load began, by the clock. */
  readonly began: number
  /** `null` if it has no bytes. */
  readonly digest: string | null
}

/**
 * The values that callers of this process received but the store may lack: those of loads without a lease, and of loads
 * whose fill was not answered, or whose value cannot be stored. The store may hold an older value that is still fresh. A caller that has seen the newer
 * one must not get the older one afterwards. So an older value counts as missing here and is loaded again, once in the
 * fleet, unless its bytes are the same.
 */
export class UnstoredValues {
  readonly #clock: Clock
  readonly #byKey = new LRUCache<string, Unstored>({ max: most })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Remembers a value that callers received.
   * @param began when its load began, by the clock
   * @param payload `null` for a value that cannot be stored, from which every older value differs
   */
  add(key: string, began: number, payload: Uint8Array | null): void {
    const known = this.#byKey.get(key)
    if (known !== undefined && known.began >= began) return
    this.#byKey.set(key, { began, digest: payload === null ? null : digestOf(payload) })
  }

  /** Whether the entry was loaded before a value that callers received, and differs from it. */
  isOlder(key: string, { age, loadTime, payload }: Entry): boolean {
    if (this.#byKey.size === 0) return false
    const unstored = this.#byKey.get(key)
    if (unstored === undefined) return false
    if (this.#clock.now() - age - loadTime < unstored.began) return digestOf(payload) !== unstored.digest
    this.#byKey.delete(key)
    return false
  }
}

function digestOf(payload: Uint8Array): string {
  return createHash('sha1').update(payload).digest('base64')
}
