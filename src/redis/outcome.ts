import type { Outcome } from '../core/store.ts'
import { entryIn } from './entry.ts'
import { failureIn } from './failure.ts'
import type { Message } from './inbox.ts'

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
    case 'a':
    case 't':
      return { state: 'again' }
  }
}
