import type { Forwarded } from '../message/cache-status.ts'
import { variantKey } from '../stored/request-key.ts'
import type { Selection } from '../watch/selection.ts'
import type { Variants } from '../stored/stored-response.ts'

/** Where the response to a request is, or would be. */
export interface VariantSlot {
  readonly key: string
  /** The request fields, and what else of a request, that are part of the key. */
  readonly names: readonly string[]
  /** Why a request goes on to the handler if nothing is here. */
  readonly forwarded: Forwarded
}

/** Where all requests of an address look first. */
export function firstSlot(key: string): VariantSlot {
  return { key, names: [], forwarded: 'uri-miss' }
}

/** Where a request finds its variant of what differs. @param key that of the address */
export function slotOfVariant(key: string, { names, generation }: Variants, selection: Selection): VariantSlot {
  return { key: variantKey(key, `${generation} ${selection.by(names)}`), names, forwarded: 'vary-miss' }
}
