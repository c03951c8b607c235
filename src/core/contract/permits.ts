/**
 * A report of a user of a source, such as a process, and its request for permits. It says how many permits the user holds,
 * and not which have been taken or given back since the last report: so a report that is lost, repeated or late does no
 * harm, and the next one makes up for all that a store has forgotten.
 *
 * All times are milliseconds.
 */
export interface PermitReport {
  readonly source: string
  /** The name of the user: 16 characters, unique among the users of the source. */
  readonly who: string
  /** Grows with each report; an older report changes nothing, and one that is sent again is answered as the first time. */
  readonly seq: number
  /** How many permits it holds. */
  readonly held: number
  /** How long it has held the oldest of them, for operators. Default 0. */
  readonly oldest?: number | undefined
  /** How many more it would take now. */
  readonly wants: number
  readonly urgency: Urgency
  /** The most permits that all may hold together; `null` for any number. If others say less, that counts. */
  readonly concurrency: number | null
  /** The most permits that are granted within each `per`; `null` for any number. The rates of others hold as well. */
  readonly rate: { readonly loads: number; readonly per: number } | null
  /** How long it holds its permits without another report. */
  readonly ttl: number
  /** How long it counts as a user although it holds and wants nothing. */
  readonly keep: number
  /** How many users it knows, or 0. With more, a store that knows none has forgotten them. */
  readonly known: number
  /**
   * Whether permits that it holds or gives back are lost if the store has let them go; else it holds them all the same,
   * above the limit.
   */
  readonly strict?: boolean | undefined
}

/**
 * The order of loads: 0 for callers that wait, 1 for refreshes behind a stale value, 2 for warm-up. Users of one urgency
 * take turns.
 */
export type Urgency = 0 | 1 | 2

/** The answer to a report. */
export interface PermitAnswer {
  /** How many permits it holds now beyond those that it has reported. */
  readonly granted: number
  /** Whether the store found permits of it; always `true` unless the report is strict. */
  readonly holds: boolean
  /** How many users there are, itself included. */
  readonly users: number
  /** How many other users wait as urgently as itself or more so, and for how many permits. */
  readonly waiting: { readonly users: number; readonly permits: number }
  /** The most permits that all may hold together now. */
  readonly concurrency: number | null
  /** After how many milliseconds it may be granted more without a message; `null` if that is not known. */
  readonly again: number | null
  /** Whether a message will tell it that it may be granted more. */
  readonly pushed: boolean
}

/** The permits of sources, for all processes that use a store. */
export interface Permits {
  /**
   * Takes a report, and grants permits in the order of urgency and waiting, in one atomic step.
   * @param told called when another report may be granted more, or when the store may count the user as dead; replaces
   *   the function of an earlier report of the same user
   */
  report(report: PermitReport, told: () => void): Promise<PermitAnswer>

  /** Ends the messages to `who`. */
  forget(who: string): void
}

/** How long a waiting user keeps its place without another report, in milliseconds; it reports far more often. */
export const placeKept = 1_500

/** How long users that a store has forgotten may take to report before it grants their permits to others, in milliseconds. */
export const recovery = 1_500

/** How much finer than its `per` a rate is counted, if others with a longer one are counted in no more than `mostSteps`. */
export const rateSteps = 20
export const mostSteps = 1_000

/** By how much the clock of a store may be set back before what it has noted counts as over, in milliseconds. */
export const clockSlack = 5_000
