import { describe, expect, test } from 'vitest'
import { createCache } from '../../../src/index.ts'
import { allAsked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'

describe('invalidatePrefix', () => {
  const keys = ['user', 'user:', 'user:1', 'user:1:name', 'user:12:name', 'users:1', ':user:1', 'cart:1']

  test.for([
    ['user:', ['user:', 'user:1', 'user:1:name', 'user:12:name']],
    ['user:1:', ['user:1:name']],
    [':', [':user:1']],
    ['', keys],
    ['nobody:', []],
  ] as const)('voids what begins with %j, loaded or set, and nothing else', async ([prefix, voided]) => {
    const { a, b, c } = fleet({ prefixes: ':', grace: '1h' })
    await Promise.all(keys.map((key, index) => (index % 2 ? a.set(key, 1) : a.getOrLoad(key, () => 1))))
    await c.invalidatePrefix(prefix)
    const missing = await Promise.all(keys.map(async (key) => ((await b.peek(key)).state === 'missing' ? [key] : [])))
    expect(missing.flat()).toEqual(voided)
    for (const key of keys) expect(await b.getOrLoad(key, () => 2)).toBe(voided.includes(key as never) ? 2 : 1)
  })

  test('has what is under way loaded again, for all who ask afterwards and all who wait (rule 4)', async () => {
    const { a, b, c, source } = fleet({ prefixes: '/' })
    const before = await allAsked([a.getOrLoad('x/1', source.loader), b.getOrLoad('x/1', source.loader)])
    await c.invalidatePrefix('x/')
    const after = await allAsked([b.getOrLoad('x/1', source.loader), c.getOrLoad('x/1', source.loader)])
    await source.resolve(0, 'too old')
    await source.resolve(1, 'new')
    expect([...before, ...after]).toEqual(Array.from({ length: 4 }, () => valued('new')))
    expect(source.runs).toHaveLength(2)
  })

  test('goes together with tags, whatever these are called', async () => {
    const { a } = fleet({ prefixes: ':', tags: ['^=', '^', '=', '^=user:'] })
    await a.set('user:1', 1)
    await a.invalidatePrefix('cart:')
    expect(await a.peek('user:1')).toMatchObject({ value: 1 })
    await a.invalidateTags(['^=user:'])
    expect(await a.peek('user:1')).toEqual({ state: 'missing' })
    await a.set('user:1', 1, { tags: ['^=cart:', '^^=cart:'] })
    await a.invalidatePrefix('cart:')
    expect(await a.peek('user:1')).toMatchObject({ value: 1 })
  })

  test('knows the first seven separators of a key, and refuses what it does not know', async () => {
    const { a } = fleet({ prefixes: '::' })
    const key = 'a::b::c::d::e::f::g::h::i'
    await a.set(key, 1)
    await a.invalidatePrefix('a::b::c::d::e::f::g::')
    expect(await a.peek(key)).toEqual({ state: 'missing' })
    for (const bad of ['a', 'a:', 'a::b', 'a::b::c::d::e::f::g::h::', 7, null]) {
      await expect(a.invalidatePrefix(bad as string)).rejects.toThrow(
        'Expected a prefix that is empty or ends with one of the first 7 of "::", got ',
      )
    }
  })

  test('needs the option, which is a separator', async () => {
    const { a } = fleet()
    await expect(a.invalidatePrefix('user:')).rejects.toThrow('Expected a cache with the option `prefixes`')
    for (const bad of ['', true, 7, 'x'.repeat(11)]) {
      expect(() => createCache({ prefixes: bad as string })).toThrow('Expected `prefixes` to be a separator of 1 to 10')
    }
  })
})
