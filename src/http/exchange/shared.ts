import type { AsyncResource } from 'node:async_hooks'
import type { Sibling } from '../../core/cache/sibling.ts'
import type { ResponsePlan } from '../options/response-options.ts'
import type { Streams } from './streams.ts'
import type { EarlierProperties } from '../inputs/earlier-properties.ts'
import type { VariantLimit } from './variant-limit.ts'
import type { Waiters } from './waiters.ts'

/** The state that the requests of one response cache share. */
export interface Shared {
  readonly sibling: Sibling
  readonly plan: ResponsePlan
  readonly streams: Streams
  readonly waiters: Waiters
  readonly limit: VariantLimit
  /** The keys that this process is refreshing in the background. */
  readonly refreshing: Set<string>
  readonly earlierProperties: EarlierProperties
  /** The asynchronous context in which the middleware was made, outside every request. */
  readonly outside: AsyncResource
}
