import { createHash } from 'node:crypto'
import type { Sibling } from '../../core/cache/sibling.ts'
import { ignoreRejection } from '../../core/errors.ts'

/** The most variants that are counted, of all addresses together. */
const mostCounted = 100_000

/**
 * Limits the variants of an address: if a handler reads a field, a client can make up any number of values. Each
 * process counts the variants that it has stored itself and invalidates the one that it stored longest ago. A shared
 * count would cost a write under a lease for every variant, just when they arrive by the thousand.
 */
export class VariantLimit {
  readonly #sibling: Sibling
  readonly #most: number
  /**
   * By address, the ends of the keys of its variants; both in the order of their last store. An address stands as a
   * digest: a client chooses how long it is.
   */
  readonly #addresses = new Map<string, Set<string>>()
  #counted = 0

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
    const address = createHash('sha256').update(key).digest('base64url')
    const variants = this.#addresses.get(address) ?? new Set()
    this.#counted -= variants.size
    // A copy: a slice would keep the whole key in memory.
    moveLast(variants, Buffer.from(variant.slice(key.length)).toString())
    this.#addresses.delete(address)
    this.#addresses.set(address, variants)
    if (variants.size > this.#most) this.#crowdOut(key, variants)
    this.#counted += variants.size
    while (this.#counted > mostCounted) this.#forgetFirst()
  }

  #crowdOut(key: string, variants: Set<string>): void {
    const [first] = variants
    if (first === undefined) return
    variants.delete(first)
    this.#sibling.events.emit('crowdedOut', { key, variants: this.#most })
    // If the store is away, the variant stays until it expires.
    ignoreRejection(this.#sibling.cache.invalidate(key + first))
  }

  /** Forgets the variants of the address that stored one longest ago. */
  #forgetFirst(): void {
    const [first] = this.#addresses
    if (first === undefined) return
    const [address, variants] = first
    this.#addresses.delete(address)
    this.#counted -= variants.size
  }
}

function moveLast(all: Set<string>, one: string): void {
  all.delete(one)
  all.add(one)
}
