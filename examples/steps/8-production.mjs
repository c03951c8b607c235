/**
 * A process ends in order while it loads, and what needs attention is counted. It prints
 *
 *   40 callers, half of them as the value expires: 1 query
 *   the slowest was answered after … ms; the database alone takes … ms
 *   the process that loads is told to end: its 5 callers get CLOSED
 *   another process loads instead: the other 15 callers have their answer
 *   what would have raised an alert: nothing
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { run } from './fleet.mjs'

/** @type {import('./fleet.mjs').SetUp} */
const setUp = ({ redis, database, load }) => {
  const store = redisStore(redis)
  const timeouts = { commandTimeout: 5_000 } // the whole fleet shares one machine here, which is slow at times
  const cache = createCache({ store, namespace: 'steps', grace: '10m', near: {}, negativeTtl: '10s', ...timeouts })
  /** @type {string[]} */
  const alerts = []
  for (const event of /** @type {const} */ (['degraded', 'storeFailure', 'lost', 'failure', 'garbage']))
    cache.on(event, () => alerts.push(event))
  cache.on('load', ({ leased }) => leased || alerts.push('load without a lease'))

  process.once('SIGTERM', async () => {
    await cache.close({ timeout: 0 }) // in a process with a server, server.close() comes before
    await redis.quit()
    await database.end()
    process.disconnect()
  })
  let isLoading = false
  return {
    ask: (ttl) => cache.getOrLoad('report', load, { ttl, tags: ['sales'] }),
    askSlowly: () => cache.getOrLoad('slow report', async () => ((isLoading = true), await sleep(500), load())),
    isLoading: () => isLoading,
    endSoon: () => void process.kill(process.pid, 'SIGTERM'),
    alerts: () => alerts,
    close: () => cache.close(),
  }
}

/** @param {import('./fleet.mjs').Fleet} fleet */
const more = async (fleet) => {
  const round = fleet.all('askSlowly')
  const leader = await fleet.find((child) => child.ask('isLoading'))
  await leader.ask('endSoon')
  const { answers, errors } = await round
  await fleet.find(async () => !leader.alive())
  const codes = [...new Set(errors.map(({ code }) => code))]
  const alerts = (await fleet.all('alerts', [], 1)).answers.flat()
  return [
    `the process that loads is told to end: its ${errors.length} callers get ${codes.join()}`,
    `another process loads instead: the other ${answers.length} callers have their answer`,
    `what would have raised an alert: ${alerts.join(', ') || 'nothing'}`,
  ]
}

await run(setUp, more)
