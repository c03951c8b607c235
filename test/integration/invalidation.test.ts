import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { patient, reuseProcesses, startFleet, tally, type LoaderSpec, type Member } from '../support/fleet.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis } from '../support/servers.ts'

reuseProcesses()
const server = await startRedis()
/** The renewal of a lease is far away, so it is the invalidation that tells its holder. */
const cache = patient

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

describe('during a load', () => {
  const places: [string, number][] = [
    ['the loading process', 0],
    ['a waiting process', 1],
    ['another process', 2],
  ]

  test.for(places)('invalidate() from %s voids the load (rules 2, 3 and 4)', async ([, place]) => {
    await using fleet = await startFleet({ processes: 3, redis: { options: server.address }, cache })
    const [holder, waiter] = fleet.members as [Member, Member]
    const before = [await holder.ask('key', { callers: 3 })]
    const first = await fleet.load(0)
    before.push(await waiter.ask('key', { callers: 3 }))
    await fleet.waits(1)
    await fleet.members[place]?.invalidate('key')
    const after = await Promise.all(fleet.members.map((member) => member.ask('key', { callers: 3 })))
    const second = await fleet.load(1)
    await until('the first loader is told', () => first.aborted)
    expect(first.aborted?.code).toBe('LEASE_LOST')
    await first.finish()
    expect((await waiter.peek('key')).state, 'the late fill is refused').toBe('missing')
    await second.finish()
    for (const { answers } of [...before, ...after]) {
      expect(tally(await answers)).toEqual([{ told: second.value, callers: 3 }])
    }
    expect(await waiter.peek('key')).toMatchObject({ value: second.value })
    expect(fleet.loads).toHaveLength(2)
  })

  test.for(places)('set() from %s is the answer for all (rules 2, 3 and 4)', async ([, place]) => {
    await using fleet = await startFleet({ processes: 3, redis: { options: server.address }, cache })
    const [holder, waiter] = fleet.members as [Member, Member]
    const crowds = [await holder.ask('key', { callers: 3 })]
    const load = await fleet.load(0)
    crowds.push(await waiter.ask('key', { callers: 3 }))
    await fleet.waits(1)
    await fleet.members[place]?.set('key', 'set by hand')
    crowds.push(await fleet.ask('key', { loader: { ms: 0 } }))
    for (const { answers } of crowds) expect(tally(await answers)).toEqual([{ told: 'set by hand', callers: 3 }])
    await until('the loader is told', () => load.aborted)
    await load.finish()
    expect(await waiter.peek('key')).toMatchObject({ value: 'set by hand' })
    expect(fleet.loads).toHaveLength(1)
  })
})

describe('while an outcome is on its way', () => {
  const outcomes: [string, LoaderSpec, LoaderSpec['error']?][] = [
    ['value in the message', {}],
    ['value to be read', { length: 100_000 }],
    ['error', {}, { name: 'Error', message: 'of the old load' }],
  ]

  test.for(outcomes)(
    'a caller who asks after an invalidation is not told of it, if it is a %s (rule 4)',
    async ([, loader, error]) => {
      await using proxy = await startProxy(server)
      const each = (number: number) => ({
        redis: {
          options: server.address,
          ...(number === 1 ? { subscriber: { host: proxy.host, port: proxy.port } } : {}),
        },
      })
      await using fleet = await startFleet({ processes: 3, redis: {}, each, cache })
      const [holder, waiter, third] = fleet.members as [Member, Member, Member]
      const ofHolder = await holder.ask('key', { loader })
      const first = await fleet.load(0)
      const early = await waiter.ask('key')
      await fleet.waits(1)
      proxy.blackHole('replies')
      await (error === undefined ? first.finish() : first.fail(error))
      await ofHolder.answers
      await third.invalidate('key')
      const late = await waiter.ask('key')
      proxy.heal()
      const second = await fleet.load(1)
      await second.finish()
      expect(tally(await late.answers)).toEqual([{ told: second.value, callers: 1 }])
      // Whoever asked before may have either.
      expect([first.value, second.value, 'LOAD_FAILED']).toContain(tally(await early.answers)[0]?.told)
    },
  )
})
