import { BloomFilter } from 'bloomfilter'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { onlyKnown } from '../../src/index.ts'
import { asked, valued } from './support/answer.ts'
import { fleet } from './support/fleet.ts'
import { settled } from '../support/fake-clock.ts'
import { throwing } from './support/source.ts'

describe('a cache behind a filter', () => {
  test('asks neither the store nor the source for a key that the filter does not know', async () => {
    const { a, ways } = fleet()
    const known = onlyKnown(a, new Set(['k']))
    let loads = 0
    const loader = (): number => ++loads
    expect(await known.getOrLoad('unknown', loader)).toBe(null)
    expect([loads, ways.a.sent]).toEqual([0, []])
    expect(await known.getOrLoad('k', loader)).toBe(1)
    expect(await known.getOrLoad('k', loader)).toBe(1)
    expect(ways.a.sent).not.toEqual([])
  })

  test('gives what it is told for what does not exist', async () => {
    const { a } = fleet()
    const none = Symbol('none')
    expect(await onlyKnown(a, new Set(), { absent: none }).getOrLoad('k', () => 1)).toBe(none)
    expect(await onlyKnown(a, new Set(), { absent: undefined }).getOrLoad('k', () => 1)).toBe(undefined)
    expectTypeOf(onlyKnown(a, new Set()).getOrLoad('k', () => 1)).toEqualTypeOf<Promise<number | null>>()
    expectTypeOf(onlyKnown(a, new Set(), { absent: 'none' as const }).getOrLoad('k', () => 1)).toEqualTypeOf<
      Promise<number | 'none'>
    >()
  })

  test('waits for a filter that is somewhere else', async () => {
    const { a } = fleet()
    let say!: (known: boolean) => void
    const known = onlyKnown(a, { has: () => new Promise<boolean>((resolve) => (say = resolve)) })
    const ask = async (says: boolean): Promise<unknown> => {
      const answer = await asked(known.getOrLoad('k', () => 1))
      expect(answer.state).toBe('pending')
      say(says)
      await settled()
      return answer
    }
    expect(await ask(false)).toEqual(valued(null))
    expect(await ask(true)).toEqual(valued(1))
  })

  test('asks the source when the filter fails, or says nothing that can be understood', async () => {
    const { a } = fleet()
    const filters: unknown[] = [
      () => Promise.reject(new Error('away')),
      throwing(new Error('away')),
      () => undefined,
      () => 0,
      () => null,
    ]
    for (const [index, has] of filters.entries()) {
      expect(await onlyKnown(a, { has } as never).getOrLoad(`k${index}`, () => 1)).toBe(1)
    }
  })

  test('hands the options, the loader and its errors on', async () => {
    const { a } = fleet()
    const known = onlyKnown(a, new Set(['k', 'bad']))
    await known.getOrLoad('k', ({ key }) => key, { ttl: '1h' })
    expect(await a.peek('k')).toMatchObject({ value: 'k', ttl: 3_600_000 })
    const down = new Error('down')
    const failing = known.getOrLoad('bad', () => Promise.reject(down))
    await expect(failing).rejects.toThrow(down)
  })

  test('refuses what is wrong', async () => {
    const { a } = fleet()
    expect(() => onlyKnown(null as never, new Set())).toThrow('Expected a cache, got null')
    for (const filter of [null, {}, 5])
      expect(() => onlyKnown(a, filter as never)).toThrow('Expected a filter with has()')
    expect(() => onlyKnown(a, new Set(), { missing: 1 } as never)).toThrow(
      'Unknown option `missing` of onlyKnown; expected one of absent',
    )
    await expect(onlyKnown(a, new Set()).getOrLoad('', () => 1)).rejects.toThrow('Expected a key')
  })
})

test('a Bloom filter never denies a key that was added, and is wrong about the others as rarely as it was told', async () => {
  const { a } = fleet()
  const bloom = BloomFilter.withTargetError(10_000, 0.01)
  for (let id = 0; id < 10_000; id++) bloom.add(`user:${id}`)
  const known = onlyKnown(a, { has: (key) => bloom.test(key) })
  for (let id = 0; id < 10_000; id += 7) expect(await known.getOrLoad(`user:${id}`, () => id)).toBe(id)
  let asked = 0
  for (let id = 10_000; id < 20_000; id++) await known.getOrLoad(`user:${id}`, () => ++asked)
  // The same keys each time, so the same number each time.
  expect(asked).toBeGreaterThan(0)
  expect(asked).toBeLessThan(200)
})
