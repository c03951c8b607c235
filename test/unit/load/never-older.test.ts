import { describe, expect, test } from 'vitest'
import { settled } from '../../support/fake-clock.ts'
import { asked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { Source } from '../support/source.ts'

/** The store has a value; `a` is cut off, and loads for itself meanwhile; then it is connected again. */
async function afterOutage(loaded: unknown) {
  const all = fleet({ ttl: '1m', commandTimeout: 100 })
  const { a, b, ways, clock } = all
  await b.getOrLoad('k', () => ({ row: 'old' }))
  ways.a.mode = 'silent'
  const during = a.getOrLoad('k', () => loaded)
  await clock.advance(100)
  expect(await during).toEqual(loaded)
  ways.a.thaw()
  await clock.advance(300)
  return all
}

describe('a process that loaded for itself while the store was away', () => {
  test('does not give its callers the older value that the store has kept, but loads anew', async () => {
    const { a, b } = await afterOutage({ row: 'new' })
    // What the store has is another matter.
    expect(await a.peek('k')).toMatchObject({ value: { row: 'old' } })
    expect(await a.getOrLoad('k', () => ({ row: 'newer' }))).toEqual({ row: 'newer' })
    expect(await b.getOrLoad('k', () => ({ row: 'newest' }))).toEqual({ row: 'newer' })
    expect(await a.getOrLoad('k', () => ({ row: 'newest' }))).toEqual({ row: 'newer' })
  })

  test('does not load anew if the store has kept the same value', async () => {
    const { a } = await afterOutage({ row: 'old' })
    expect(await a.getOrLoad('k', () => ({ row: 'newer' }))).toEqual({ row: 'old' })
  })

  test('gives its callers what another process has loaded since', async () => {
    const { a, b, clock } = await afterOutage({ row: 'new' })
    await b.invalidate('k')
    await clock.advance(1)
    await b.getOrLoad('k', () => ({ row: 'newer' }))
    expect(await a.getOrLoad('k', () => ({ row: 'newest' }))).toEqual({ row: 'newer' })
  })

  test('does not wait with an older value for the load that replaces it', async () => {
    const { a, b } = await afterOutage({ row: 'new' })
    let end!: (value: unknown) => void
    const replaced = b.refresh('k', () => new Promise((resolve) => (end = resolve)))
    await settled()
    const asked = a.getOrLoad('k', () => ({ row: 'own' }))
    await settled()
    end({ row: 'newer' })
    expect(await Promise.all([replaced, asked])).toEqual([{ row: 'newer' }, { row: 'newer' }])
  })
})

test('a caller that was given a value whose fill was lost is not given the older one after it', async () => {
  const { a, b, ways, clock } = fleet({ ttl: '1m', commandTimeout: 100 })
  await b.getOrLoad('k', () => 'old')
  await clock.advance(1)
  ways.a.hold('fill', 'before')
  const refreshed = a.refresh('k', () => 'new')
  await clock.advance(100)
  expect(await refreshed).toBe('new')
  expect(await b.peek('k')).toMatchObject({ value: 'old' })
  const asked = a.getOrLoad('k', () => 'newer')
  await clock.advance(100)
  expect(await asked).toBe('newer')
})

test('a caller that was given the value of a load that had lost its lease is not given the older one after it', async () => {
  const { a, b, ways, clock } = fleet({ ttl: '1m', leaseTtl: '2s', commandTimeout: 100 })
  await b.getOrLoad('k', () => 'old')
  await clock.advance(1)
  const source = new Source()
  const refreshed = await asked(a.refresh('k', source.loader))
  ways.a.mode = 'silent'
  await clock.advance(3_000)
  await source.resolve(0, 'new')
  expect(refreshed).toEqual(valued('new'))
  ways.a.thaw()
  await clock.advance(300)
  expect(await b.peek('k')).toMatchObject({ value: 'old' })
  expect(await a.getOrLoad('k', () => 'newer')).toBe('newer')
})

test('a fill that was lost does not end the use of a stale value if nobody was given the new one', async () => {
  const { a, ways, clock } = fleet({ ttl: '1s', grace: '1m', commandTimeout: 100 })
  await a.set('k', 'old')
  await clock.advance(2_000)
  ways.a.hold('fill', 'before')
  expect(await a.getOrLoad('k', () => 'new')).toBe('old')
  await clock.advance(100)
  const loads = new Source()
  expect(await asked(a.getOrLoad('k', loads.loader))).toEqual(valued('old'))
})
