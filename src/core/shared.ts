import type { Clock } from './clock.ts'
import type { Codec } from './codec.ts'
import type { Events } from './events.ts'
import type { GuardedStore } from './guard.ts'
import type { Moment } from './moment.ts'
import type { Near } from './near.ts'
import type { Pacing } from './pacing.ts'
import type { Lease } from './store.ts'
import type { TagNames } from './tag-names.ts'
import type { Tracing } from './tracing.ts'
import type { Unleased } from './unleased.ts'
import type { UnstoredValues } from './unstored-values.ts'
import type { Watchdog } from './watchdog.ts'

/** What the reads, flights and calls of one cache share. */
export interface Shared {
  readonly store: GuardedStore
  /** Copies in this process; `null` without a near tier. */
  readonly near: Near | null
  /** Those of this cache and of its siblings. */
  readonly copies: Set<Near>
  /** A key as the store knows it. */
  readonly named: (key: string) => string
  readonly tagNames: TagNames
  readonly watchdog: Watchdog<Lease>
  readonly unleased: Unleased
  readonly pacing: Pacing
  readonly unstored: UnstoredValues
  readonly clock: Clock
  readonly codec: Codec
  readonly events: Events
  readonly moment: () => Moment
  readonly token: () => string
  readonly tracing: Tracing
  /** What this process says of itself with its claims. */
  readonly holder: string
}
