import { deltaSeconds, mostSeconds } from './directives.ts'
import { fieldOf, membersOf } from './fields.ts'
import { dateOf } from './http-date.ts'
import type { Response } from './message.ts'

/** When a response was asked for, and when its header came; milliseconds since the epoch. */
export interface Exchange {
  /** For a handler in the same process the same as `receivedAt`: there is no network between to be late. */
  readonly requestedAt: number
  readonly receivedAt: number
}

/** As old as can be told, in milliseconds: nothing is fresh that is so old. */
export const oldest: number = mostSeconds * 1_000

/**
 * RFC 9111 section 4.2.3: how old a response is when it comes, in milliseconds (corrected_initial_age).
 */
export function initialAgeOf({ fields }: Response, { requestedAt, receivedAt }: Exchange): number {
  const date = dateOf(fieldOf(fields, 'date'), receivedAt)
  const apparent = date === null ? 0 : Math.max(0, receivedAt - date)
  const corrected = ageFieldOf(fieldOf(fields, 'age')) + Math.max(0, receivedAt - requestedAt)
  return Math.min(Math.max(apparent, corrected), oldest)
}

/** RFC 9111 section 4.2.3: how old it is now (current_age), in milliseconds. */
export function ageAt(now: number, initialAge: number, receivedAt: number): number {
  return Math.min(initialAge + Math.max(0, now - receivedAt), oldest)
}

/** RFC 9111 section 5.1: an age as the Age field tells it, in whole seconds. @param age milliseconds */
export function ageText(age: number): string {
  return String(Math.min(Math.floor(age / 1_000), mostSeconds))
}

/** RFC 9111 section 5.1: of several values the first counts, and one that is no whole number is ignored. */
function ageFieldOf(field: string | null): number {
  const [first = null] = membersOf(field ?? '')
  return (deltaSeconds(first) ?? 0) * 1_000
}
