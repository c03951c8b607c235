import type { Outcome } from '../core/store.ts'
import { entryIn } from './entry.ts'
import { failureIn } from './failure.ts'
import type { Inbox, Message } from './inbox.ts'
import type { ServerClock } from './server-clock.ts'

/** What a message says of the load that was waited for. */
export function outcomeIn({ kind, body }: Message, serverNow: number): Outcome {
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

/** Listens for what comes of a load, from now on. */
export function listening(
  token: string,
  inbox: Inbox | null,
  clock: ServerClock,
): { token: string; outcome: Promise<Outcome>; leave: () => void } {
  let leave = (): void => undefined
  const outcome = new Promise<Outcome>((resolve) => {
    if (inbox !== null) leave = inbox.listen(token, (message) => resolve(outcomeIn(message, clock.now())))
  })
  return { token, outcome, leave }
}
