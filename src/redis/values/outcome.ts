import type { Outcome } from '../../core/contract/store.ts'
import { entryIn, type RedisEntry } from './entry.ts'
import { failureIn } from '../../core/codec/load-failures.ts'
import type { Message } from '../push/inbox.ts'
import type { Voidable } from './tags.ts'

/** An error in stored bytes; its tags are not checked yet. */
export type Failed = Extract<Outcome, { state: 'failed' }> & Voidable

/** The outcome in a message; its tags are not checked yet. */
export type Heard =
  | Exclude<Outcome, { state: 'filled' | 'failed' }>
  | { readonly state: 'filled'; readonly entry: RedisEntry }
  | Failed

/** The error in stored bytes, which any client may have written, or removed. */
export function failedIn(stored: unknown): Failed {
  const bytes = Buffer.isBuffer(stored) ? stored : Buffer.alloc(0)
  return { state: 'failed', failure: failureIn(bytes), ...tagsIn(bytes) }
}

function tagsIn(bytes: Buffer): Voidable {
  const none = { tags: [], since: 0 }
  // Most errors have no tags: their bytes are not parsed again.
  if (!bytes.includes('"tags"')) return none
  try {
    const { tags, since } = JSON.parse(bytes.toString()) as { tags?: unknown; since?: unknown }
    const isTagged = Array.isArray(tags) && tags.every((tag) => typeof tag === 'string')
    return isTagged ? { tags, since: Number(since) } : none
  } catch {
    return none
  }
}

/** The outcome that a message reports. */
export function outcomeIn({ kind, body }: Message, serverNow: number): Heard {
  switch (kind) {
    case 'v': {
      const entry = entryIn(body, serverNow)
      return entry === null ? { state: 'again' } : { state: 'filled', entry }
    }
    case 'r':
      return { state: 'read' }
    case 'f':
      return failedIn(body)
    case 'p':
      return { state: 'pass' }
    default:
      return { state: 'again' }
  }
}
