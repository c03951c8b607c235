import { describe, expect, test } from 'vitest'
import type { VirtualProcess } from '../../../src/testing/index.ts'
import { shop } from '../support/shop.ts'

/** Has a process hold a lock for as long as its work takes, and notes when it begins and ends. */
function working(ran: string[], name = 'job', ms = 100) {
  return (process: VirtualProcess): Promise<void> =>
    process.lock.run(
      name,
      async ({ signal }) => {
        ran.push(`${process.number} begins`)
        await process.sleep(ms)
        ran.push(`${process.number} ${signal.aborted ? 'lost it' : 'ends'}`)
      },
      { ttl: '2s', wait: '1m', fair: true },
    )
}

describe('the locks of a virtual fleet', () => {
  test('let one at a time work, in the order in which they asked', async () => {
    const { fleet, a, b, c } = shop()
    const ran: string[] = []
    const work = working(ran)
    const all = [work(a)]
    for (const process of [b, c]) {
      await fleet.advance(20)
      all.push(work(process))
    }
    await fleet.until(Promise.all(all))
    expect(ran).toEqual(['1 begins', '1 ends', '2 begins', '2 ends', '3 begins', '3 ends'])
    // Each was told, and did not have to ask again.
    expect(fleet.clock.now()).toBeLessThan(400)
  })

  test('pass from one that is killed to the next when its ttl is over', async () => {
    const { fleet, a, b } = shop()
    const ran: string[] = []
    void working(ran)(a)
    await fleet.advance(20)
    a.kill()
    await fleet.until(working(ran)(b))
    expect(ran).toEqual(['1 begins', '2 begins', '2 ends'])
    expect(fleet.clock.now()).toBeGreaterThan(2_000)
  })

  test('are lost by one that is blocked for too long, which is told when it goes on', async () => {
    const { fleet, a, b } = shop()
    const ran: string[] = []
    const first = working(ran)(a)
    await fleet.advance(20)
    a.pause()
    await fleet.until(working(ran)(b))
    a.resume()
    await expect(fleet.until(first)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    // What was overdue before the renewal does not know of it yet.
    expect(ran).toEqual(['1 begins', '2 begins', '2 ends', '1 ends'])
  })

  test('are lost by one that is cut off, while it works', async () => {
    const { fleet, a, b } = shop()
    const ran: string[] = []
    const first = working(ran, 'job', 10_000)(a)
    await fleet.advance(20)
    a.partition()
    await fleet.until(working(ran)(b))
    await expect(fleet.until(first)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(ran).toEqual(['1 begins', '2 begins', '2 ends', '1 lost it'])
  })

  test('are asked for again by those whom no message reaches', async () => {
    const { fleet, a, b } = shop({ trouble: { lostMessages: 1 } })
    const ran: string[] = []
    const first = working(ran)(a)
    await fleet.advance(20)
    await fleet.until(Promise.all([first, working(ran)(b)]))
    expect(ran).toEqual(['1 begins', '1 ends', '2 begins', '2 ends'])
    expect(fleet.clock.now()).toBeGreaterThan(1_000)
  })

  test('go by the options of the fleet', async () => {
    const { fleet, a, b } = shop({ lock: { wait: '50ms' } })
    await fleet.until(a.lock.acquire('job'))
    await expect(fleet.until(b.lock.acquire('job'))).rejects.toThrow('was held by somebody else for 50 ms')
  })
})
