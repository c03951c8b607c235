import type { Failure } from '../core/errors.ts'
import type { Outcome } from '../core/contract/store.ts'

/** A load under way, with its waiters. */
export interface MemoryLease {
  readonly token: string
  readonly version: number
  /** The epoch of tags at its grant. */
  readonly since: number
  readonly holder: string
  readonly context: string | undefined
  readonly grantedAt: number
  renewals: number
  until: number
  /** Whether an urgent claim waits for it. */
  isUrgent: boolean
  readonly waiters: Set<(outcome: Outcome) => void>
  readonly tellHolder: () => void
}

/** The outcome of a load without a value, until it expires. */
export interface Rest {
  readonly until: number
  readonly token: string
  readonly tags: readonly string[]
  /** The epoch of tags when its load began. */
  readonly since: number
  readonly outcome: { readonly state: 'failed'; readonly failure: Failure } | { readonly state: 'pass' }
}
