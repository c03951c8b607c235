/**
 * Copies in each process, and a tag by which the report is invalidated when a sale is added. It prints
 *
 *   40 callers, half of them as the value expires: 1 query
 *   the slowest was answered after … ms; the database alone takes … ms
 *   20 callers once more: 20 near hits
 *   a sale is added in one process, and 20 callers ask: 1 query, 0 outdated answers
 */
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { run } from './fleet.mjs'

/** @type {import('./fleet.mjs').SetUp} */
const setUp = ({ redis, database, load }) => {
  const cache = createCache({ store: redisStore(redis), namespace: 'steps', grace: '10m', near: {} })
  return {
    ask: (ttl) => cache.getOrLoad('report', load, { ttl, tags: ['sales'] }),
    async addSale() {
      await database.query('update state set edition = edition + 1')
      await cache.invalidateTags(['sales'])
    },
    nearHits: () => cache.stats().nearHits,
    close: () => cache.close(),
  }
}

/** @param {import('./fleet.mjs').Fleet} fleet */
const more = async (fleet) => {
  await fleet.all('ask', [60_000]) // every process has a copy from here on
  const hits = async () => (await fleet.all('nearHits', [], 1)).answers.map(Number).reduce((sum, one) => sum + one)
  const hitsBefore = await hits()
  await fleet.all('ask', [60_000])
  const nearHits = (await hits()) - hitsBefore

  const before = await fleet.queries()
  await fleet.first.ask('addSale')
  const { answers } = await fleet.all('ask', [60_000])
  const queries = (await fleet.queries()) - before
  const outdated = answers.filter((edition) => edition !== 2).length
  return [
    `20 callers once more: ${nearHits} near hits`,
    `a sale is added in one process, and 20 callers ask: ${queries} query, ${outdated} outdated answers`,
  ]
}

await run(setUp, more)
