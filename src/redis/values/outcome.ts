import type { Outcome } from '../../core/contract/store.ts'
import { entryIn, type RedisEntry } from './entry.ts'
import { failureIn } from './failure.ts'
import type { Inbox, Message } from '../push/inbox.ts'
import type { ServerClock } from '../connection/server-clock.ts'

/** The outcome in a message; the tags of its value are not checked yet. */
export type Heard = Exclude<Outcome, { state: 'filled' }> | { readonly state: 'filled'; readonly entry: RedisEntry }

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
      return { state: 'failed', failure: failureIn(body) }
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
