import type { Sibling } from '../../core/cache/sibling.ts'
import { ignoreRejection } from '../../core/errors.ts'

/** Of how many addresses it is known which variants they have. */
const mostAddresses = 10_000

/**
 * Keeps the variants of an address from becoming too many: a client can make up as many as it likes, where a handler reads a
 * field. Each process counts those that it has stored itself, and voids the one it stored first. A record for the fleet would
 * have to be written with each of them, under a lease, while they are made up by the thousand.
 */
export class VariantLimit {
  readonly #sibling: Sibling
  readonly #most: number
  /** The keys of the variants of each address, by its own: whatever was stored last comes last. */
  readonly #addresses = new Map<string, Set<string>>()

  /** @param most variants of an address */
  constructor(sibling: Sibling, most: number) {
    this.#sibling = sibling
    this.#most = most
  }

  /** Notes that a variant is stored. @param key that of the address */
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
    // Where the store is away it is kept, or expires.
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
