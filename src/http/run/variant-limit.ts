import type { Sibling } from '../../core/cache/sibling.ts'
import { ignoreRejection } from '../../core/errors.ts'

/** The most addresses whose variants are counted. */
const mostAddresses = 10_000

/**
 * Limits the variants of an address: if a handler reads a field, a client can make up any number of values. Each
 * process counts the variants that it has stored itself and invalidates the one that it stored longest ago. A shared
 * count would cost a write under a lease for every variant, just when they arrive by the thousand.
 */
export class VariantLimit {
  readonly #sibling: Sibling
  readonly #most: number
  /** By key of the address, the keys of its variants; both in the order of their last store. */
  readonly #addresses = new Map<string, Set<string>>()

  /**
   * @param most variants of an address
   */
  constructor(sibling: Sibling, most: number) {
    this.#sibling = sibling
    this.#most = most
  }

  /**
   * Counts a variant that was stored.
   * @param key the key of the address
   */
  stored(key: string, variant: string): void {
    const variants = this.#addresses.get(key) ?? new Set()
    moveLast(variants, variant)
    this.#addresses.delete(key)
    this.#addresses.set(key, variants)
    if (variants.size > this.#most) this.#crowdOut(key, variants)
    if (this.#addresses.size > mostAddresses) deleteFirst(this.#addresses)
  }

  #crowdOut(key: string, variants: Set<string>): void {
    const first = deleteFirst(variants)
    if (first === undefined) return
    this.#sibling.events.emit('crowdedOut', { key, variants: this.#most })
    // If the store is away, the variant stays until it expires.
    ignoreRejection(this.#sibling.cache.invalidate(first))
  }
}

function moveLast(all: Set<string>, one: string): void {
  all.delete(one)
  all.add(one)
}

function deleteFirst(all: Set<string> | Map<string, unknown>): string | undefined {
  const [first] = all.keys()
  if (first !== undefined) all.delete(first)
  return first
}
