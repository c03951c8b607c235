import { deltaSeconds, mostSeconds } from './directives.ts'
import { fieldOf, membersOf } from './fields.ts'
import { dateOf } from './http-date.ts'
import type { Response } from './message.ts'

/** When a request was sent and when the head of its response arrived, in milliseconds since the epoch. */
export interface ExchangeTimes {
  /** Equal to `receivedAt` for a handler in the same process, because there is no network delay. */
  readonly requestedAt: number
  readonly receivedAt: number
}

/** The greatest age, in milliseconds. No response of this age is fresh. */
export const oldest: number = mostSeconds * 1_000

/** The age of a response on arrival, in milliseconds (corrected_initial_age, RFC 9111 section 4.2.3). */
export function initialAgeOf({ fields }: Response, { requestedAt, receivedAt }: ExchangeTimes): number {
  const date = dateOf(fieldOf(fields, 'date'), receivedAt)
  const apparent = date === null ? 0 : Math.max(0, receivedAt - date)
  const corrected = ageFieldOf(fieldOf(fields, 'age')) + Math.max(0, receivedAt - requestedAt)
  return Math.min(Math.max(apparent, corrected), oldest)
}

/** The age of a response at `now`, in milliseconds (current_age, RFC 9111 section 4.2.3). */
export function ageAt(now: number, initialAge: number, receivedAt: number): number {
  return Math.min(initialAge + Math.max(0, now - receivedAt), oldest)
}

/**
 * Formats an age for the Age field, in whole seconds (RFC 9111 section 5.1).
 * @param age milliseconds
 */
export function ageText(age: number): string {
  return String(Math.min(Math.floor(age / 1_000), mostSeconds))
}

/** RFC 9111 section 5.1: the first of several values counts, and a value that is not a whole number is ignored. */
function ageFieldOf(field: string | null): number {
  const [first = null] = membersOf(field ?? '')
  return (deltaSeconds(first) ?? 0) * 1_000
}
