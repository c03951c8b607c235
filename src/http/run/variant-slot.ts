import type { Forwarded } from '../message/cache-status.ts'
import { variantKey } from '../stored/request-key.ts'
import type { Selection } from '../watch/selection.ts'
import type { Variants } from '../stored/stored-response.ts'

/** The slot in the store where the response to a request belongs. */
export interface VariantSlot {
  readonly key: string
  /** The inputs of the request that are part of the key. */
  readonly names: readonly string[]
  /** The reason for forwarding a request if the slot is empty. */
  readonly forwarded: Forwarded
}

/** The slot at which every request of an address starts. */
export function firstSlot(key: string): VariantSlot {
  return { key, names: [], forwarded: 'uri-miss' }
}

/**
 * The slot of the variant of a request.
 * @param key the key of the address
 */
export function slotOfVariant(key: string, { names, generation }: Variants, selection: Selection): VariantSlot {
  return { key: variantKey(key, `${generation} ${selection.by(names)}`), names, forwarded: 'vary-miss' }
}
