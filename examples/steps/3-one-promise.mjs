/**
 * The callers of one process share a promise. It prints
 *
 *   40 callers, half of them as the value expires: 4 queries
 *   the slowest was answered after … ms; the database alone takes … ms
 */
import { run } from './fleet.mjs'

/** @type {import('./fleet.mjs').SetUp} */
const setUp = ({ redis, load }) => {
  /** @type {Promise<unknown> | undefined} */
  let underWay
  /** @param {number} ttl */
  async function find(ttl) {
    const stored = await redis.get('steps:report')
    if (stored !== null) return JSON.parse(stored)
    const value = await load()
    await redis.set('steps:report', JSON.stringify(value), 'PX', ttl)
    return value
  }
  /** @param {number} ttl */
  function ask(ttl) {
    underWay ??= find(ttl).finally(() => (underWay = undefined))
    return underWay
  }
  return { ask }
}

await run(setUp)
