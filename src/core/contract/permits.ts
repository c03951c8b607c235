/**
 * What a process says of its loads of one source, and asks for. It says how many permits it holds, and not what has
 * changed since it asked last: so a report that is lost, repeated or late does no harm, and the next one makes up for
 * all that a store has forgotten.
 *
 * All times are milliseconds.
 */
export interface PermitReport {
  readonly source: string
  /** Who reports: 16 characters, unique among all that use the source. */
  readonly who: string
  /** Grows with each report; an older report changes nothing. */
  readonly seq: number
  /** How many permits it holds. */
  readonly held: number
  /** How many more it would take now. */
  readonly wants: number
  readonly urgency: Urgency
  /** The most permits that all may hold together; `null` for any number. If others say less, that counts. */
  readonly concurrency: number | null
  /** The most permits that are granted within each `per`; `null` for any number. */
  readonly rate: { readonly loads: number; readonly per: number } | null
  /** How long what it holds is held without another report. */
  readonly ttl: number
  /** How long it counts as one of those that use the source although it holds and wants nothing. */
  readonly keep: number
  /** How many use the source as far as it knows, or 0: then, a store that knows nobody has forgotten them. */
  readonly known: number
  /**
   * Whether what it holds, or gives back, is lost if the store has let it go; else it is held all the same, above the
   * limit.
   */
  readonly strict?: boolean | undefined
}

/**
 * Who goes first: 0 for callers that wait, 1 for refreshes behind a stale value, 2 for warm-up. Those of one urgency
 * take turns.
 */
export type Urgency = 0 | 1 | 2

/** The answer to a report. */
export interface PermitAnswer {
  /** How many permits it holds now beyond those that it has reported. */
  readonly granted: number
  /** Whether it still held something; always `true` unless the report is strict. */
  readonly holds: boolean
  /** How many use the source, itself included. */
  readonly users: number
  /** How many of the others wait, and for how many permits, as urgently as itself or more so. */
  readonly waiting: { readonly users: number; readonly permits: number }
  /** The most permits that all may hold together now. */
  readonly concurrency: number | null
  /** After how long it may be granted more without a message; `null` if only others know. */
  readonly again: number | null
  /** Whether a message will tell it that it may be granted more. */
  readonly pushed: boolean
}

/** The permits of sources, for all processes that use a store. */
export interface Permits {
  /**
   * Takes a report, and grants permits in the order of urgency and waiting, in one atomic step.
   * @param told called when another report may be granted more, or what is held may be in doubt; replaces the function
   *   of an earlier report of the same `who`
   */
  report(report: PermitReport, told: () => void): Promise<PermitAnswer>

  /** Ends the messages to `who`. */
  forget(who: string): void
}

/** How long one that waits keeps its place without another report; it reports far more often. */
export const placeKept = 1_500

/** For how long those that a store has forgotten may report before it grants what they may hold. */
export const recovery = 1_500

/** How much finer than its `per` a rate is counted. */
export const rateSteps = 20
