import type { Outcome } from '../../core/contract/store.ts'
import { entryIn, type RedisEntry } from './entry.ts'
import { failureIn } from '../../core/codec/load-failures.ts'
import type { Inbox, Message } from '../push/inbox.ts'
import { isYes, type RedisPort } from '../connection/port.ts'
import { runScript } from '../connection/run-script.ts'
import type { ServerClock } from '../connection/server-clock.ts'
import type { Voidable } from './tags.ts'
import { leaseKey } from './keys.ts'
import { presenceSuffix } from '../push/presence.ts'
import { stillLoads } from '../scripts.ts'

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

/** Listens for the outcome of a load from now on. */
export function listening(
  token: string,
  inbox: Inbox | null,
  clock: ServerClock,
): { token: string; outcome: Promise<Heard>; leave: () => void } {
  let leave = (): void => undefined
  const outcome = new Promise<Heard>((resolve) => {
    if (inbox !== null) leave = inbox.listen(token, (message) => resolve(outcomeIn(message, clock.now())))
  })
  return { token, outcome, leave }
}

/**
 * Whether a load is still under way, its holder alive as far as Redis can tell, and this process enlisted as a waiter.
 * @param inbox the inbox of this process
 */
export async function isUnderWay(
  client: RedisPort,
  { key, token }: { readonly key: string; readonly token: string },
  inbox: string,
): Promise<boolean> {
  return isYes(await runScript(client, stillLoads, [leaseKey(key)], [token, inbox, presenceSuffix(client)]))
}
