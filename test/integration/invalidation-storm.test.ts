import { expect, test } from 'vitest'
import { createCache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { startFleet } from '../support/fleet.ts'
import { startRedis } from '../support/servers.ts'

/** Invalidates a key about a thousand times a second until it is stopped; `stop` returns how often. */
function storm(invalidate: () => Promise<void>): { stop: () => Promise<number> } {
  let on = true
  let times = 0
  const over = (async () => {
    const since = performance.now()
    while (on) {
      const due = Math.min(50, Math.floor(performance.now() - since) - times)
      times += due
      await Promise.all(Array.from({ length: due }, invalidate))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  })()
  return {
    async stop() {
      on = false
      await over
      return times
    },
  }
}

test.for([
  { callers: 400, what: 'many callers' },
  { callers: 15, what: 'hardly more than one caller at a time' },
])('a thousand invalidations a second do not multiply loads: $what', { timeout: 60_000 }, async ({ callers }) => {
  await using server = await startRedis()
  await using fleet = await startFleet({ processes: 4, redis: { options: server.address } })
  await using cache = createCache({ store: redisStore(server.connect()) })
  const { stop } = storm(() => cache.invalidate('k'))
  const { answers } = await fleet.ask('k', { callers, over: 4_000, loader: { ms: 50 } })
  const told = await answers
  const invalidations = await stop()
  expect(invalidations).toBeGreaterThan(2_000)
  expect(told.filter(({ error }) => error !== undefined)).toEqual([])
  const loads = fleet.loads.filter(({ key }) => key === 'k')
  for (const process of fleet.processes) {
    const own = loads.filter((load) => load.process === process)
    expect(own.length).toBeGreaterThan(0)
    const meanwhile = own.slice(1).filter(({ startedAt }, index) => startedAt < (own[index]?.endedAt ?? Infinity))
    expect(meanwhile).toEqual([])
  }
  expect(loads.length / told.length).toBeLessThan(1.5)
})
