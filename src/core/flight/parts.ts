import type { Codec } from '../codec/codec.ts'
import type { LoadFailures } from '../codec/load-failures.ts'
import type { Lease } from '../contract/store.ts'
import type { Keyspace } from '../entry/key.ts'
import type { GuardedStore } from '../guard/guarded-store.ts'
import type { Modes } from '../guard/modes.ts'
import type { Watchdog } from '../lease/watchdog.ts'
import type { Near } from '../near/near.ts'
import type { Events } from '../observe/events.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { Sources } from '../source/sources.ts'
import type { CausalTime, Clock } from '../time/clock.ts'
import type { Deadlines } from '../time/deadlines.ts'
import type { Pacing } from './pacing.ts'
import type { Semaphore } from './semaphore.ts'
import type { UnleasedLoads } from './unleased-loads.ts'
import type { UnstoredValues } from './unstored-values.ts'

/** The parts of one cache that its flights use. */
export interface FlightParts {
  readonly store: GuardedStore
  readonly modes: Modes
  readonly keyspace: Keyspace
  readonly codec: Codec
  readonly events: Events
  readonly clock: Clock
  readonly causalNow: () => CausalTime
  readonly tracing: Tracing
  readonly near: Near | null
  /** The copies that serve while the store is away: the near copies, or those of the option `bridge`. */
  readonly spare: Near | null
  readonly failures: LoadFailures
  readonly unstored: UnstoredValues
  readonly pacing: Pacing
  readonly watchdog: Watchdog<Lease>
  readonly deadlines: Deadlines
  /** The hard timeouts of loads, which keep no process alive. */
  readonly hardDeadlines: Deadlines
  readonly unleased: UnleasedLoads
  readonly sources: Sources
  /** Bounds the claims under way. A burst of keys then goes on in waves, and what a wave has allocated dies young. */
  readonly claims: Semaphore
  /** The description of this process in its claims. */
  readonly holder: string
}
