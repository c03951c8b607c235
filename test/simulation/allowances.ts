import type { Allowances } from '../support/invariants.ts'
import type { Schedule } from './schedule.ts'
import { instant, late, longestSleep, mayBeUnstored, surroundingsOf } from './surroundings.ts'

/** What the faults of a schedule may cost. */
export function allowancesOf(schedule: Schedule): Allowances {
  const { leg, forgets, heard, deaf } = surroundingsOf(schedule)
  const { options, faults } = schedule
  // A lease that was forgotten is missed at its next renewal, or else when it could not be renewed.
  const missed = heard ? options.leaseTtl / 3 + 4 * leg : options.leaseTtl
  // Where loads wait for a source, a caller may have waited for one that never began, which is in no history.
  const timely = heard && faults.length === 0 && options.source === undefined
  return {
    // Each of them must have its reason: see answers.ts.
    errors: (
      'CIRCULAR_LOAD CLOSED KEPT LEADS LEFT LOAD_TIMEOUT NOTHING OVERLOADED STORE_UNAVAILABLE ' +
      'VALUE_NOT_SERIALIZABLE WAIT_TIMEOUT'
    ).split(' '),
    overlap: (forgets ? missed : 0) + instant,
    ...(options.bridge !== undefined && { bridge: options.bridge }),
    older: !heard || faults.length > 0,
    late,
    ...(timely ? { wakeUp: 8 * leg + Math.max(20, options.softTimeout) + (deaf ? longestSleep : 0) + instant } : {}),
    unleasedAtOnce: unleasedAtOnce(schedule),
  }
}

/** How many loads of a key may run at once in a process, while none can have a lease. */
function unleasedAtOnce(schedule: Schedule): number {
  const loaders = schedule.operations.flatMap((operation) => ('loader' in operation ? [operation.loader] : []))
  // Each loads for itself what must not be stored, and a loader does not wait for a place.
  if (loaders.some((loader) => mayBeUnstored(loader, schedule) || loader.nested !== undefined)) return Infinity
  return 2
}
