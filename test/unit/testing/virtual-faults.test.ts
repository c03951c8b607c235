import { describe, expect, test } from 'vitest'
import { createCache, type Cache } from '../../../src/index.ts'
import type { Claim } from '../../../src/store/index.ts'
import type { VirtualEvent, VirtualProcess } from '../../../src/testing/index.ts'
import { answersOf } from '../support/answer.ts'
import { shop } from '../support/shop.ts'
import { throwing } from '../support/source.ts'

describe('a process that is paused', () => {
  test('in the midst of its load is replaced, and its fill is refused when it comes back', async () => {
    const { fleet, a, prices, queries } = shop()
    let refused = 0
    a.cache.on('refused', () => refused++)
    const ofLeader = prices[0].of('x')
    await fleet.advance(100)
    a.pause()
    const ofOthers = await fleet.until(Promise.all([prices[1].of('x'), prices[2].of('x')]))
    // Not before its lease has ended.
    expect(fleet.clock.now()).toBeGreaterThan(2_000)
    const [first, successor, ...more] = queries
    expect([first, more]).toEqual([1, []])
    expect(refused).toBe(0)
    a.resume()
    const answer = await fleet.until(ofLeader)
    expect([answer, ...ofOthers]).toEqual([1, 2, 3].map(() => ({ by: successor })))
    expect(refused).toBe(1)
  })

  test('runs no timer, hears no answer and sends nothing until it goes on', async () => {
    const happened: string[] = []
    const { fleet, a } = shop({ trace: ({ process, what, how }) => happened.push(`${process} ${what} ${how}`) })
    let finish!: (value: string) => void
    const answers = answersOf([a.cache.getOrLoad('k', () => new Promise<string>((resolve) => (finish = resolve)))])
    await fleet.advance(100)
    let slept = false
    void a.sleep(50).then(() => (slept = true))
    a.pause()
    happened.length = 0
    finish('v')
    await fleet.advance(1_000)
    expect([slept, happened]).toEqual([false, []])
    a.resume()
    await fleet.advance(100)
    expect([slept, answers]).toEqual([true, [{ state: 'value', value: 'v' }]])
    expect(happened).toContain('1 fill k #3 sent')
  })

  test('hears neither the answer to what it has sent nor a message until it goes on', async () => {
    const { fleet, a, b } = shop()
    const claimed = (process: VirtualProcess): Promise<Claim> =>
      fleet.until(process.store.claim({ key: 'test:k', token: `of ${process.number}`, leaseTtl: 60_000 }))
    const held = await claimed(a)
    const waits = await claimed(b)
    if (held.state !== 'lease' || waits.state !== 'wait') throw new Error('It is free')
    const heard = answersOf<unknown>([b.store.ping(), waits.outcome])
    await fleet.advance(0)
    b.pause()
    await fleet.until(a.store.release(held.lease))
    await fleet.advance('1m')
    expect(heard).toEqual([{ state: 'pending' }, { state: 'pending' }])
    b.resume()
    await fleet.advance(0)
    expect(heard).toMatchObject([{ state: 'value' }, { state: 'value', value: { state: 'again' } }])
  })

  test('does what it is asked to when it goes on', async () => {
    const { fleet, a } = shop()
    a.pause()
    const answer = a.run(() => a.clock.now())
    await fleet.advance(30)
    a.resume()
    expect(await fleet.until(answer)).toBe(30)
    expect(await a.run(() => 'at once')).toBe('at once')
    await expect(a.run(throwing(new Error('of mine')))).rejects.toThrow('of mine')
  })

  test('runs what is overdue in the asynchronous context that it belongs to', async () => {
    const { fleet, a } = shop()
    const circle = a.cache.getOrLoad(
      'k',
      () => new Promise((resolve) => a.clock.after(50, () => resolve(a.cache.getOrLoad('k', () => 'another')))),
    )
    await fleet.advance(20)
    a.pause()
    await fleet.advance(100)
    a.resume()
    await expect(fleet.until(circle)).rejects.toMatchObject({ code: 'CIRCULAR_LOAD' })
  })
})

describe('a process that is killed', () => {
  test('is replaced when its lease ends, and its callers never hear anything', async () => {
    const { fleet, a, prices, queries } = shop()
    const ofLeader = answersOf([prices[0].of('x')])
    await fleet.advance(100)
    a.kill()
    const [one, other] = await fleet.until(Promise.all([prices[1].of('x'), prices[2].of('x')]))
    expect(one).toEqual({ by: queries[1] })
    expect(other).toEqual(one)
    await fleet.advance('1m')
    expect(ofLeader).toEqual([{ state: 'pending' }])
    expect([a.state, queries.length]).toEqual(['killed', 2])
  })

  test('sends nothing any more, and sets no timer', async () => {
    const happened: VirtualEvent[] = []
    const { fleet, a } = shop({ trace: (event) => happened.push(event) })
    void a.sleep('1d')
    a.kill()
    expect(fleet.pending).toBe(0)
    void a.sleep('1d')
    void a.cache.getOrLoad('k', () => 'v')
    void a.cache.invalidate('k')
    void a.run(() => happened.push({ at: 0, process: 1, what: 'work', how: 'sent' }))
    await fleet.advance('1m')
    expect([happened, fleet.pending]).toEqual([[], 0])
  })
})

describe('a process that is cut off', () => {
  test('hears nothing of the others, and they nothing of it, until it is healed', async () => {
    const { fleet, a, b } = shop()
    a.partition()
    expect(await fleet.until(b.cache.getOrLoad('k', () => 'of b'))).toBe('of b')
    // It loads for itself, without a lease.
    expect(await fleet.until(a.cache.getOrLoad('k', ({ fence }) => `of a, ${fence}`))).toBe('of a, null')
    expect(fleet.clock.now()).toBeGreaterThanOrEqual(500)
    a.heal()
    await fleet.advance('10s')
    // Its callers have been given a newer value than that of b, so they are not given the older one now.
    expect(await fleet.until(b.cache.getOrLoad('k', () => 'anew'))).toBe('of b')
    expect(await fleet.until(a.cache.getOrLoad('k', () => 'anew'))).toBe('anew')
    expect(await fleet.until(b.cache.getOrLoad('k', () => 'once more'))).toBe('anew')
  })

  test.for([
    ['stall', 'done'],
    ['drop', 'did not answer within 500 ms'],
    ['refuse', 'connect ECONNREFUSED'],
  ] as const)(`with '%s' has what it sent meanwhile %s`, async ([how, what]) => {
    const { fleet, a, b } = shop()
    const heal = a.partition(how)
    const ping = a.cache.invalidate('k').then(
      () => 'done',
      (error: Error) => (error.cause as Error | undefined)?.message ?? error.message,
    )
    await fleet.advance(400)
    heal()
    expect(await fleet.until(ping)).toContain(what)
    expect(await fleet.until(b.store.ping())).toBe(undefined)
  })

  test.for(['drop', 'refuse'] as const)("with '%s' never hears what is told meanwhile", async (how) => {
    const { fleet, a, b } = shop()
    const held = await fleet.until(a.store.claim({ key: 'test:k', token: 'of a', leaseTtl: 60_000 }))
    const waits = await fleet.until(b.store.claim({ key: 'test:k', token: 'of b', leaseTtl: 60_000 }))
    if (held.state !== 'lease' || waits.state !== 'wait') throw new Error('It is free')
    const heard = answersOf([waits.outcome])
    b.partition(how)
    await fleet.until(a.store.release(held.lease))
    await fleet.advance(100)
    b.heal()
    await fleet.advance('1m')
    expect(heard).toEqual([{ state: 'pending' }])
  })

  test('more than once is healed once for each, or for all', async () => {
    const { fleet, a } = shop()
    const first = a.partition()
    a.partition('refuse')
    first()
    await expect(fleet.until(a.store.ping())).rejects.toThrow('ECONNREFUSED')
    a.heal()
    first()
    await fleet.until(a.store.ping())
  })
})

describe('the store', () => {
  test('is reached by nobody while it is stopped', async () => {
    const { fleet, a, b } = shop()
    fleet.server.stop()
    const silence = fleet.server.stop('drop')
    silence()
    for (const process of [a, b]) {
      await expect(fleet.until(process.cache.peek('k'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    }
    fleet.server.start()
    await fleet.until(a.store.ping())
  })

  test('may lose all that it has', async () => {
    const { fleet, a, all, queries } = shop()
    await fleet.until(Promise.all(all()))
    const lease = await fleet.until(a.lock.acquire('job', { ttl: '1h' }))
    fleet.server.wipe()
    expect(await fleet.until(a.cache.peek('price:x'))).toEqual({ state: 'missing' })
    expect(await fleet.until(lease.release())).toBe('lost')
    await fleet.until(Promise.all(all()))
    expect(queries).toHaveLength(2)
  })

  test('may lose who uses a source', async () => {
    const { fleet, a, b } = shop()
    const limits = { sources: { pg: { concurrency: 1 } }, source: 'pg' }
    const [one, two] = [a, b].map(({ store, clock }) => createCache({ store, clock, ...limits })) as [Cache, Cache]
    const slow = one.getOrLoad('slow', () => a.sleep('1s').then(() => 'v'))
    await fleet.advance(20)
    fleet.server.wipe()
    const quick = two.getOrLoad('quick', () => 'v')
    expect(await fleet.until(quick, { within: '100ms' })).toBe('v')
    expect(await fleet.until(slow)).toBe('v')
  })

  test('may lose a lease', async () => {
    const { fleet, b, prices, queries } = shop()
    let loadedAt = 0
    b.cache.on('load', () => (loadedAt = b.clock.now()))
    const first = prices[0].of('x')
    await fleet.advance(20)
    const second = prices[1].of('x')
    await fleet.advance(20)
    await fleet.server.evictLease('price:x')
    expect(await fleet.until(Promise.all([first, second]))).toEqual([{ by: 2 }, { by: 2 }])
    expect(queries).toEqual([1, 2])
    // Not told of it, it has asked again.
    expect(loadedAt).toBeGreaterThan(250)
  })

  test('goes by a clock of its own, by which its fences grow too', async () => {
    const { fleet, a } = shop()
    const fences: (bigint | null)[] = []
    const load = (): Promise<unknown> =>
      a.cache.getOrLoad('k', ({ fence }) => {
        fences.push(fence)
        return 'v'
      })
    await fleet.until(load())
    fleet.server.shiftClock(3_600_001)
    await fleet.until(load())
    fleet.server.shiftClock(-3_600_001)
    fleet.server.wipe()
    await fleet.until(load())
    const [first, later, back] = fences as [bigint, bigint, bigint]
    expect(later - first).toBeGreaterThan(3_600_000_000n)
    expect(back).toBeLessThan(later)
  })

  test('is shared by more caches than one a process', async () => {
    const { fleet, a, b } = shop()
    const mine = ({ store, clock }: VirtualProcess): Cache => createCache({ store, clock, namespace: 'mine' })
    await fleet.until(mine(a).set('k', 'v'))
    expect(await fleet.until(mine(b).peek('k'))).toMatchObject({ value: 'v' })
    expect(await fleet.until(a.cache.peek('k'))).toEqual({ state: 'missing' })
  })
})
