/**
 * A report that does not exist is cached, too, and a failing database is left alone. It prints
 *
 *   40 callers, half of them as the value expires: 1 query
 *   the slowest was answered after … ms; the database alone takes … ms
 *   40 callers ask for a report that does not exist: 1 query
 *   the database fails as the value expires, and 40 callers ask: 1 query, 0 errors
 */
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { run } from './fleet.mjs'

/** @type {import('./fleet.mjs').SetUp} */
const setUp = ({ redis, load }) => {
  const store = redisStore(redis)
  const cache = createCache({
    store,
    namespace: 'steps',
    grace: '10m',
    near: {},
    negativeTtl: '10s',
    failureCooldown: '5s',
  })
  let hasFailed = false
  cache.on('failure', () => (hasFailed = true))
  const loadNothing = async () => (await load(), null)
  return {
    ask: (ttl) => cache.getOrLoad('report', load, { ttl, tags: ['sales'] }),
    askForNothing: () => cache.getOrLoad('report of the moon', loadNothing, { tags: ['sales'] }),
    hasFailed: () => hasFailed,
    expire: () => cache.expire('report'),
    close: () => cache.close(),
  }
}

/** @param {import('./fleet.mjs').Fleet} fleet */
const more = async (fleet) => {
  const before = await fleet.queries()
  for (let round = 0; round < 2; round++) await fleet.all('askForNothing')
  const ofNothing = (await fleet.queries()) - before

  await fleet.change('is_broken = true')
  await fleet.first.ask('expire')
  const first = await fleet.all('ask', [60_000])
  await fleet.find((child) => child.ask('hasFailed')) // and the refresh is over
  const second = await fleet.all('ask', [60_000])
  const queries = (await fleet.queries()) - before - ofNothing
  const errors = first.errors.length + second.errors.length
  return [
    `40 callers ask for a report that does not exist: ${ofNothing} query`,
    `the database fails as the value expires, and 40 callers ask: ${queries} query, ${errors} errors`,
  ]
}

await run(setUp, more)
