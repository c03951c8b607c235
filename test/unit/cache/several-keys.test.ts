import { describe, expect, test } from 'vitest'
import { fleet, told } from '../support/fleet.ts'

describe.each(['invalidate', 'expire'] as const)('%s', (method) => {
  test('takes several keys, more than are sent at once', async () => {
    const { a, b } = fleet({ ttl: '1m' })
    const keys = Array.from({ length: 600 }, (_, index) => `k${index}`)
    for (const key of [...keys, 'other']) await a.set(key, 1)
    const events = told(b, 'invalidate')
    await b[method](keys)
    for (const key of keys) expect(await a.peek(key)).toEqual({ state: 'missing' })
    expect(await a.peek('other')).toMatchObject({ value: 1 })
    expect(events.map(({ key }) => key)).toEqual(keys)
  })

  test('of no keys does nothing', async () => {
    const { a, ways } = fleet()
    await a[method]([])
    expect(ways.a.sent).toEqual([])
  })

  test('tries all keys, and rejects with the error of the first that failed', async () => {
    const { a, ways } = fleet()
    ways.a.mode = 'failing'
    await expect(a[method](['one', 'two'])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'one' })
    expect(ways.a.count('invalidate')).toBe(2)
  })

  test('refuses all keys for one that is none', async () => {
    const { a, ways } = fleet()
    await expect(a[method](['one', '', 'two'])).rejects.toThrow('Expected a key to be a well-formed string')
    expect(ways.a.sent).toEqual([])
  })
})
