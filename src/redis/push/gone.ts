import { tokenLength } from '../../core/lease/token.ts'
import { inboxPrefix } from './inbox.ts'

/** A drop: keys or tags of one namespace that have changed. */
export interface Gone {
  /** The token of the drop that was sent before this one. */
  readonly previous: string
  /** The inbox for the acknowledgement; `''` if the writer has none. */
  readonly from: string
  readonly keys: readonly string[]
  readonly tags: readonly string[]
}

/** The drop in a message; `null` for another form, which any client may have sent. */
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
