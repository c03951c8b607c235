/**
 * The stale value is served while one caller refreshes it. It prints
 *
 *   40 callers, half of them as the value expires: 1 query
 *   the slowest was answered after … ms; the database alone takes … ms
 */
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { run } from './fleet.mjs'

/** @type {import('./fleet.mjs').SetUp} */
const setUp = ({ redis, load }) => {
  const cache = createCache({ store: redisStore(redis), namespace: 'steps', grace: '10m' })
  return {
    ask: (ttl) => cache.getOrLoad('report', load, { ttl }),
    close: () => cache.close(),
  }
}

await run(setUp)
