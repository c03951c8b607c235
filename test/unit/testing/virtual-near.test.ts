import { describe, expect, test } from 'vitest'
import { virtualFleet } from '../../../src/testing/index.ts'
import { never } from '../support/source.ts'

/** Two processes that keep copies, the second of which has one of `k`. */
async function copied() {
  const fleet = virtualFleet({ processes: 2, cache: { ttl: '1h', grace: 0, near: { ttl: '1m' } } })
  const [a, b] = fleet.processes
  await fleet.until(a.cache.set('k', 'old'))
  await fleet.until(b.cache.getOrLoad('k', never))
  const served = async (): Promise<unknown> => {
    const before = b.cache.stats().nearHits
    const value = await fleet.until(b.cache.getOrLoad('k', () => 'loaded'))
    return { value, near: b.cache.stats().nearHits > before }
  }
  return { fleet, a, b, served }
}

describe('a virtual process that keeps copies', () => {
  test('is told what goes', async () => {
    const { fleet, a, served } = await copied()
    expect(await served()).toEqual({ value: 'old', near: true })
    await fleet.until(a.cache.set('k', 'new'))
    expect(await served()).toEqual({ value: 'new', near: false })
    expect(await served()).toEqual({ value: 'new', near: true })
  })

  test('serves what it has while it is cut off, and nothing of it when it is not any more', async () => {
    const { fleet, a, b, served } = await copied()
    b.partition('refuse')
    await fleet.until(a.cache.set('k', 'new'))
    expect(await served()).toEqual({ value: 'old', near: false })
    b.heal()
    expect(await served()).toEqual({ value: 'new', near: false })
  })

  test('serves nothing any more that the server has lost, and is told again what goes', async () => {
    const { fleet, a, served } = await copied()
    fleet.server.wipe()
    expect(await served()).toEqual({ value: 'loaded', near: false })
    await served()
    expect(await served()).toEqual({ value: 'loaded', near: true })
    await fleet.until(a.cache.set('k', 'new'))
    expect(await served()).toEqual({ value: 'new', near: false })
  })
})
