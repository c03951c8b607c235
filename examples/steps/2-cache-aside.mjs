/**
 * Cache-aside: look into Redis, else load and store. It prints
 *
 *   40 callers, half of them as the value expires: 20 queries
 *   the slowest was answered after … ms; the database alone takes … ms
 */
import { run } from './fleet.mjs'

/** @type {import('./fleet.mjs').SetUp} */
const setUp = ({ redis, load }) => {
  /** @param {number} ttl */
  async function ask(ttl) {
    const stored = await redis.get('steps:report')
    if (stored !== null) return JSON.parse(stored)
    const value = await load()
    await redis.set('steps:report', JSON.stringify(value), 'PX', ttl)
    return value
  }
  return { ask }
}

await run(setUp)
