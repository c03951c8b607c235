import { describe, expect, test } from 'vitest'
import { virtualFleet } from '../../../src/testing/index.ts'
import { answersOf } from '../support/answer.ts'
import { shop } from '../support/shop.ts'

describe('the way to the store', () => {
  test('takes as long as it is said to, and a value is older when it arrives', async () => {
    const { fleet, a } = shop({ latency: '100ms' })
    await fleet.until(a.cache.set('k', 'v', { ttl: '1m' }))
    expect(fleet.clock.now()).toBe(200)
    expect(await fleet.until(a.cache.peek('k'))).toMatchObject({ age: 300, ttl: 59_700 })
    expect(await fleet.until(a.cache.getOrLoad('k', () => 'another'))).toBe('v')
    const [many] = await fleet.until(a.cache.getOrLoadEntries(['k', 'l'], (keys) => keys.map(() => 'loaded')))
    // Written at 100, and read at 700.
    expect(many).toMatchObject({ state: 'fresh', age: 700 })
  })

  test.for([true, false])('keeps the order of what is sent only if it is ordered (%s)', async (ordered) => {
    const arrived: string[] = []
    const fleet = virtualFleet({
      ordered,
      latency: { min: 0, max: 50 },
      trace: ({ what, how }) => how === 'carried out' && arrived.push(what),
    })
    const [a] = fleet.processes
    await fleet.until(Promise.all(Array.from({ length: 20 }, () => a.store.ping())))
    const sent = Array.from({ length: 20 }, (_, index) => `ping #${index + 1}`)
    expect(arrived.toSorted()).toEqual(sent.toSorted())
    expect(arrived.join() === sent.join()).toBe(ordered)
  })

  test('lets a write that is too late do no more than void', async () => {
    const how: string[] = []
    const { fleet, a, b } = shop({ latency: 100, trace: (event) => how.push(event.how) })
    const written = { payload: Buffer.from('v'), ttl: 60_000, grace: 0, loadTime: 0, inlineLimit: 0 }
    await fleet.until(a.store.set('test:k', 'first', written, 100))
    expect(await fleet.until(b.store.read('test:k'))).toMatchObject({ token: 'first' })
    await expect(fleet.until(a.store.set('test:k', 'second', written, 99))).rejects.toThrow('too late')
    expect(how).toContain('too late')
    expect(await fleet.until(b.store.read('test:k'))).toBe(null)
  })
})

describe('trouble on the way', () => {
  /** How many of a hundred invalidations are answered how, and how many are carried out. */
  async function tally(trouble: object): Promise<{ done: number; failed: number; carriedOut: number }> {
    let carriedOut = 0
    const fleet = virtualFleet({
      trouble,
      trace: ({ what, how }) => (carriedOut += Number(how === 'carried out' && what.startsWith('invalidate '))),
    })
    const [a] = fleet.processes
    const answers = answersOf(Array.from({ length: 100 }, (_, index) => a.store.invalidate(`test:${index}`)))
    await fleet.advance('1s')
    const done = answers.filter(({ state }) => state === 'value').length
    return { done, failed: answers.filter(({ state }) => state === 'error').length, carriedOut }
  }

  test('is none unless it is asked for', async () => {
    expect(await tally({})).toEqual({ done: 100, failed: 0, carriedOut: 100 })
  })

  test('loses commands, some of them after they were carried out', async () => {
    const { done, failed, carriedOut } = await tally({ lost: 0.5 })
    expect([failed, carriedOut > done, carriedOut < 100]).toEqual([0, true, true])
    expect(done).toBeGreaterThan(25)
    expect(done).toBeLessThan(75)
  })

  test('cuts connections, before commands are carried out and after', async () => {
    const { done, failed, carriedOut } = await tally({ cut: 0.5 })
    expect([done + failed, carriedOut > done, carriedOut < 100]).toEqual([100, true, true])
    expect(failed).toBeGreaterThan(25)
  })

  test('has commands carried out twice', async () => {
    expect(await tally({ repeated: 1 })).toEqual({ done: 100, failed: 0, carriedOut: 200 })
  })

  test('loses messages, and whoever waits asks again', async () => {
    const claims = { told: 0, untold: 0 }
    for (const which of ['told', 'untold'] as const) {
      const { fleet, prices } = shop({
        trouble: { lostMessages: which === 'told' ? 0 : 1 },
        trace: ({ process, what }) => (claims[which] += Number(process === 2 && what.startsWith('claim '))),
      })
      const first = prices[0].of('x')
      await fleet.advance(20)
      expect(await fleet.until(prices[1].of('x'))).toEqual({ by: 1 })
      expect(await fleet.until(first)).toEqual({ by: 1 })
    }
    expect(claims.untold).toBeGreaterThan(claims.told)
  })

  test('ends when it is told to', async () => {
    const { fleet, a } = shop({ trouble: { cut: 1 } })
    await expect(fleet.until(a.store.ping())).rejects.toThrow('ECONNRESET')
    fleet.trouble({})
    await fleet.until(a.store.ping())
  })
})
