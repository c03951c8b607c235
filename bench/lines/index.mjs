import { slowLoader, stampede } from './fleet.mjs'
import { entryInRedis, loopPause, nearHeap, nearKeys, tags, valueOf, waiters } from './growth.mjs'
import { memory, near, secondTier } from './hits.mjs'
import { joins, waiting } from './joins.mjs'
import { limit } from './limit.mjs'
import { distinctKeys, loadHeap, manyHits, uncacheable } from './loads.mjs'
import { uncontended } from './locks.mjs'
import { response } from './responses.mjs'
import { bundle, importTime } from './weight.mjs'

/** All lines, by the name that selects one. @type {Record<string, import('./line.mjs').Line>} */
export const lines = {
  joins,
  waiting,
  'distinct-keys': distinctKeys,
  'load-heap': loadHeap,
  'many-hits': manyHits,
  near,
  memory,
  'hits-1': secondTier(1, 0.95),
  'hits-8': secondTier(8, 0.9),
  'hits-64': secondTier(64, 2.6),
  'hits-1000': secondTier(1_000, 3),
  'stampede-cold': stampede('cold'),
  'stampede-warm': stampede('warm'),
  'slow-loader': slowLoader,
  uncacheable,
  limit,
  lock: uncontended,
  'near-keys': nearKeys,
  'near-heap': nearHeap,
  waiters,
  'loop-pause': loopPause,
  tags,
  'value-100': valueOf(100),
  'value-10000': valueOf(10_000),
  'value-1000000': valueOf(1_000_000),
  'entry-in-redis': entryInRedis,
  'response-hit': response('hit', 3_000),
  'response-miss': response('miss', 1_000),
  bundle,
  import: importTime,
}
