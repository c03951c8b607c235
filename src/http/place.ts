import type { Forwarded } from './cache-status.ts'
import type { Fields } from './policy/fields.ts'
import { selectedBy } from './policy/vary.ts'
import { variantKey } from './request-key.ts'
import type { StoredHead, Variants } from './stored-response.ts'

/** Where the response to a request is, or would be. */
export interface Place {
  readonly key: string
  /** The request fields that are part of the key. */
  readonly names: readonly string[]
  /** Why a request goes on to the handler if nothing is here. */
  readonly forwarded: Forwarded
}

/** Where all requests of an address look first. */
export function firstPlace(key: string): Place {
  return { key, names: [], forwarded: 'uri-miss' }
}

/** Where a request finds its variant of what differs. @param key that of the address */
export function placeOfVariant(key: string, { names, generation }: Variants, fields: Fields): Place {
  return { key: variantKey(key, `${generation} ${selectedBy(names, fields)}`), names, forwarded: 'vary-miss' }
}

/** RFC 9111 section 4.1: whether a request may be answered with this variant. */
export function isSelected({ vary, selected }: StoredHead, fields: Fields): boolean {
  return vary.length === 0 || selectedBy(vary, fields) === selected
}
