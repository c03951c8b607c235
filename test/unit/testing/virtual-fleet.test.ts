import { describe, expect, test } from 'vitest'
import { virtualFleet } from '../../../src/testing/index.ts'
import { answersOf } from '../support/answer.ts'
import { shop } from '../support/shop.ts'

describe('a virtual fleet', () => {
  test('loads once for all, at the speed of its clock', async () => {
    const { fleet, queries, all } = shop()
    const answers = await fleet.until(Promise.all(all()))
    expect(queries).toHaveLength(1)
    expect(answers).toEqual(answers.map(() => ({ by: queries[0] })))
    // A claim and a fill, there and back, the message, and the load between them.
    expect(fleet.clock.now()).toBeGreaterThanOrEqual(500 + 5)
    expect(fleet.clock.now()).toBeLessThanOrEqual(500 + 8 * 5)
  })

  test('stands still until time is let pass', async () => {
    const { fleet, a } = shop()
    const answers = answersOf([a.cache.getOrLoad('k', () => 'v')])
    await fleet.advance(0)
    expect(answers).toEqual([{ state: 'pending' }])
    await fleet.advance('1s')
    expect(answers).toEqual([{ state: 'value', value: 'v' }])
    expect(fleet.clock.now()).toBe(1_000)
  })

  test('runs the timers of all processes in the order of time', async () => {
    const { fleet, a, b } = shop()
    const ran: string[] = []
    a.clock.after(30, () => ran.push(`a at ${a.clock.now()}`))
    b.clock.after(10, () => ran.push(`b at ${b.clock.now()}`))
    fleet.clock.after(20, () => ran.push(`fleet at ${fleet.clock.now()}`))
    b.clock.after(30, () => ran.push(`b at ${b.clock.now()}`))
    await fleet.advance(30)
    expect(ran).toEqual(['b at 10', 'fleet at 20', 'a at 30', 'b at 30'])
  })

  test('may be waited for with `until` only if something is left that could happen', async () => {
    const { fleet, a, b, c } = shop()
    const never = new Promise(() => undefined)
    await expect(fleet.until(never)).rejects.toThrow('has not settled, and nothing is left to happen')
    a.pause()
    b.kill()
    await expect(fleet.until(b.sleep(5))).rejects.toThrow('; process 1 is paused; process 2 is killed')
    await expect(fleet.until(c.sleep('2h'))).rejects.toThrow('within 3600000 ms')
    expect(await fleet.until(c.sleep('2h'), { within: '2h' })).toBe(undefined)
    await expect(fleet.until(Promise.reject(new Error('of mine')))).rejects.toThrow('of mine')
  })

  test('lets time pass for one at a time', async () => {
    const { fleet } = shop()
    const first = fleet.advance(10)
    await expect(fleet.advance(10)).rejects.toThrow('Time is passing already')
    await first
    expect(fleet.clock.now()).toBe(10)
  })

  test('leaves nothing to happen when it is closed', async () => {
    const { fleet, c, all } = shop()
    const answers = answersOf(all())
    await fleet.advance(100)
    expect(fleet.pending).toBeGreaterThan(0)
    await fleet[Symbol.asyncDispose]()
    await fleet.advance('1m')
    expect(answers).toEqual(answers.map(() => ({ state: 'pending' })))
    expect([fleet.pending, c.state]).toEqual([0, 'killed'])
  })

  test('is left by a cache that is closed as it was before', async () => {
    const { fleet, all } = shop()
    await fleet.until(Promise.all(all()))
    await fleet.until(Promise.all(fleet.processes.map(({ cache }) => cache.close())))
    expect(fleet.pending).toBe(0)
  })
})

describe('what makes no sense is refused at once', () => {
  test.for([
    ['processes', 0, 'Expected `processes` to be a whole number of at least 1, got 0 (number)'],
    ['seed', 1.5, 'Expected `seed` to be a whole number of at least 0, got 1.5 (number)'],
    ['latency', '5', "Expected `latency` to be a number of milliseconds, 0 or more, or a duration such as '5m'"],
    ['latency', { min: 5 }, 'Expected `latency` to have a `min` and a `max` that is not less, got 5 and NaN'],
    ['latency', { min: 5, max: 1 }, 'Expected `latency` to have a `min` and a `max` that is not less, got 5 and 1'],
    ['ordered', 'yes', 'Expected `ordered` to be true or false, got "yes" (string)'],
    ['trouble', { lost: 5 }, 'Expected `lost` to be a number from 0 to 1, got 5 (number)'],
    ['trouble', { loss: 0.5 }, 'Unknown option `loss` of trouble'],
    ['cache', { clock: {} }, 'Expected `cache` to have no `clock`: it has that of the fleet'],
    ['cache', { tll: 5 }, 'Unknown option `tll` of createCache'],
    ['lock', { signal: null }, 'Unknown option `signal` of lock'],
    ['store', { max: 0 }, 'Expected `max` to be a whole number of at least 1'],
    ['store', { clock: {} }, 'Expected `store` to have no `clock`: it has that of the fleet'],
    ['trace', true, 'Expected `trace` to be a function, got true (boolean)'],
    ['proceses', 3, 'Unknown option `proceses` of virtualFleet'],
  ] as const)('%s: %j', ([name, value, message]) => {
    expect(() => virtualFleet({ [name]: value } as object)).toThrow(TypeError)
    expect(() => virtualFleet({ [name]: value } as object)).toThrow(message)
  })

  test('of a process, of the store and of time', async () => {
    const fleet = virtualFleet({ latency: () => Number.NaN })
    const [a, b] = fleet.processes
    expect(() => a.partition('away' as never)).toThrow(
      "Expected `how` to be 'stall' or 'drop' or 'refuse', got \"away\"",
    )
    expect(() => a.resume('clock' as never)).toThrow("Expected `first` to be 'timers' or 'answers'")
    expect(() => a.sleep('5' as never)).toThrow(TypeError)
    expect(() => a.run('work' as never)).toThrow('Expected the work to be a function, got "work" (string)')
    expect(() => fleet.server.stop('away' as never)).toThrow(TypeError)
    expect(() => fleet.server.shiftClock(Number.NaN)).toThrow('Expected a number of milliseconds')
    expect(() => fleet.trouble({ cut: -1 })).toThrow(TypeError)
    await expect(fleet.advance(-1)).rejects.toThrow(TypeError)
    await expect(fleet.until(5 as never)).rejects.toThrow('Expected a promise to wait for, got 5 (number)')
    await expect(fleet.until(a.store.ping())).rejects.toThrow('Expected `latency` to return a number of milliseconds')
    b.kill()
    expect(() => b.pause()).toThrow('Process 2 was killed')
    expect(() => b.resume()).toThrow('Process 2 was killed')
  })
})
