import { tokenLength } from '../core/lease/token.ts'
import { inboxPrefix } from './inbox.ts'

/** What goes: keys or tags of one namespace. */
export interface Gone {
  /** The token of the change that was told before this one. */
  readonly previous: string
  /** The inbox of who let it go, where it is heard that nobody serves it any more; `''` if nothing is heard there. */
  readonly from: string
  readonly keys: readonly string[]
  readonly tags: readonly string[]
}

/** What a message says that goes. Anybody on the same Redis could have sent it: `null` for what is not of our form. */
export function goneIn(body: Buffer): Gone | null {
  try {
    const previous = body.toString('latin1', 0, tokenLength)
    const { from, keys, tags } = JSON.parse(body.toString('utf8', tokenLength)) as Record<keyof Gone, unknown>
    if (typeof from !== 'string' || (from !== '' && !from.startsWith(inboxPrefix))) return null
    return isNames(keys) && isNames(tags) ? { previous, from, keys, tags } : null
  } catch {
    return null
  }
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}
