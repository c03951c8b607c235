import type { CallOptions } from '../../src/index.ts'
import type { Happening } from '../support/history.ts'
import type { LoaderPlan } from './schedule.ts'

/** What is noted of a call besides. */
export interface Asked {
  readonly options: CallOptions
  /** The loader it is made by, if it is. */
  readonly by: string | null
  readonly peek: boolean
  /** After how many milliseconds it is aborted. */
  readonly leaves: number | null
}

/** What is noted of a load besides. */
export interface Loading extends Life {
  readonly plan: LoaderPlan
  readonly failureCooldown: number
}

/** How long something may be served, in milliseconds. */
export interface Life {
  readonly ttl: number
  readonly grace: number
}

/** What a process was told when it closed, and when it had closed. */
export interface Closing {
  readonly at: number
  readonly timeout: number
  closedAt: number
  error: string | null
}

/** What is known of what happened. */
export interface Notes {
  readonly happenings: readonly Happening[]
  readonly asked: ReadonlyMap<string, Asked>
  readonly loading: ReadonlyMap<string, Loading>
  readonly setting: ReadonlyMap<string, Life>
  readonly closing: ReadonlyMap<number, Closing>
}
