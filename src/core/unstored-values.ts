import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'
import type { Entry } from './store.ts'

/** The most keys that are remembered. */
const most = 10_000

interface Unstored {
  /** When its load began, by the clock. */
  readonly began: number
  readonly digest: string
}

/**
 * The values that callers of this process were given and the store was not: of loads without a lease, and of loads whose
 * fill may have been lost. While the store was away it may have kept an older value that is fresh still. A caller that has
 * seen the newer one must not be given the older one after it, so an older value counts as missing here, unless it is the
 * same value: then it is loaded anew, once in the fleet.
 */
export class UnstoredValues {
  readonly #clock: Clock
  readonly #byKey = new LRUCache<string, Unstored>({ max: most })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A value is given to callers. @param began when its load began, by the clock */
  add(key: string, began: number, payload: Uint8Array): void {
    const known = this.#byKey.get(key)
    if (known === undefined || known.began < began) this.#byKey.set(key, { began, digest: digestOf(payload) })
  }

  /** Whether what the store has was loaded before a value that callers were given, and differs from it. */
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
