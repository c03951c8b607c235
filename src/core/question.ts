import type { Loader } from './load.ts'
import type { Moment } from './moment.ts'
import type { CallPlan } from './plan.ts'

/** One question: which key, how to load it, and when it was asked. */
export interface Question {
  readonly key: string
  readonly loader: Loader<unknown>
  readonly plan: CallPlan
  /** Whether it is to be loaded even though there is a fresh value. */
  readonly refresh: boolean
  readonly asked: Moment
  /** By the clock. */
  readonly askedAt: number
}
