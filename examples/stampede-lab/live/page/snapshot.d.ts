/** What the lab sends to the page ten times a second: what `Scene.snapshot` returns, and the tour. */

export type Side = 'without' | 'with'
export type Key = 'home' | 'top-ten' | 'prices'
export type Way = 'nothing' | 'coalescing' | 'lock' | 'herdless'
export type Act = 'nothing' | 'coalescing' | 'lock' | 'kill' | 'invalidate' | 'redisDown'

export interface Counts {
  requests: number
  answered: number
  errors: number
  outdated: number
  /** Milliseconds. */
  slowest: number
  queries: number
}

export interface Totals extends Counts {
  /** The most loads that were under way at a time. */
  most: number
}

export interface Doing extends Counts {
  /** Loads under way. */
  loading: Partial<Record<Key | 'product', number>>
  /** Callers without an answer. */
  waiting: number
}

export interface Process extends Record<Side, Doing> {
  name: string
  state: 'running' | 'paused' | 'starting'
}

export interface Lease {
  /** Milliseconds; 0 if there is none. */
  left: number
  holder: string | null
}

export interface Entry {
  id: number
  at: number
  times: number
  kind: 'soon' | 'act' | 'load' | 'renewed' | 'cost' | 'trouble'
  action?: string
  value?: string
  shops?: string[]
  side?: Side
  key?: Key | 'product'
  shop?: string
  event?: string
  without?: Totals
  with?: Totals
  message?: string
}

export interface Snapshot {
  at: number
  way: Way
  source: { delay: number; isBroken: boolean }
  redis: { isUp: boolean; isOwn: boolean }
  event: { kind: string; number: number; at: number }
  sides: Record<Side, Totals>
  leases: Record<Side, Record<Key, Lease>>
  processes: Process[]
  tape: Entry[]
  tour: { act: Act; number: number; of: number } | null
  results: ({ act: Act } & Record<Side, Totals>)[] | null
}
