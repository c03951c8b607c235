import { describe, expect, test } from 'vitest'
import { createCache, type Cache, type LoadContext } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, asked, valued } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'
import { throwing } from '../support/source.ts'

const there = { state: 'fresh', value: 'v' }
const missing = { state: 'missing' }

describe('invalidateTags', () => {
  test('voids what has one of the tags: of the call, of the loader, of both, or set', async () => {
    const { a, b, c } = fleet({ ttl: '1m', grace: '1h' })
    await a.getOrLoad('call', () => 'v', { tags: ['x', 'y'] })
    await a.getOrLoad('loader', ({ tags }) => {
      tags('x')
      tags('z', 'z')
      return 'v'
    })
    await a.getOrLoad('both', ({ tags }) => (tags('x'), 'v'), { tags: ['y'] })
    await a.set('set', 'v', { tags: ['x'] })
    await a.getOrLoad('other', () => 'v', { tags: ['y'] })
    await a.getOrLoad('none', () => 'v')
    const keys = ['call', 'loader', 'both', 'set', 'other', 'none']
    const peek = (cache: Cache): Promise<unknown> => Promise.all(keys.map((key) => cache.peek(key)))
    expect(await peek(b)).toMatchObject(keys.map(() => there))
    await c.invalidateTags(['x', 'unknown'])
    expect(await peek(b)).toMatchObject([missing, missing, missing, missing, there, there])
    expect(await b.getOrLoad('call', () => 'new', { tags: ['x'] })).toBe('new')
    expect(await a.getOrLoad('call', () => 'newer')).toBe('new')
  })

  test('has what is under way loaded again, for all who ask afterwards and all who wait (rule 4)', async () => {
    const { a, b, c, source } = fleet()
    const loader = (context: Parameters<typeof source.loader>[0]): string | Promise<string> => {
      context.tags('x')
      return source.loader(context)
    }
    const before = await allAsked([a.getOrLoad('k', loader), b.getOrLoad('k', loader)])
    await c.invalidateTags(['x'])
    const after = await allAsked([a.getOrLoad('k', loader), b.getOrLoad('k', loader), c.getOrLoad('k', loader)])
    await source.resolve(0, 'too old')
    expect(source.runs).toHaveLength(2)
    expect([...before, ...after].every(({ state }) => state === 'pending')).toBe(true)
    await source.resolve(1, 'new')
    expect([...before, ...after]).toEqual(Array.from({ length: 5 }, () => valued('new')))
    expect(source.runs).toHaveLength(2)
  })

  test('lifts the errors of loads with one of the tags: of the call, or named by the loader before it threw', async () => {
    const { a, b, c } = fleet({ failureCooldown: '1m' })
    const fails = (of: string): (() => never) => throwing(new Error(of))
    const calls = [
      ['call', fails('call'), ['x']],
      ['loader', ({ tags }: LoadContext) => (tags('x'), fails('loader')()), []],
      ['other', fails('other'), ['y']],
      ['none', fails('none'), []],
    ] as const
    for (const [key, loader, tags] of calls) {
      await expect(a.getOrLoad(key, loader, { tags })).rejects.toThrow(key)
    }
    const now = (cache: Cache): Promise<unknown[]> =>
      Promise.all(calls.map(([key]) => cache.getOrLoad(key, () => 'there').catch((error: Error) => error.message)))
    expect(await now(b)).toEqual(['call', 'loader', 'other', 'none'])
    await c.invalidateTags(['x'])
    expect(await now(a)).toEqual(['there', 'there', 'other', 'none'])
    expect(await now(b)).toEqual(['there', 'there', 'other', 'none'])
  })

  test('lifts errors by prefix', async () => {
    const { a, b } = fleet({ failureCooldown: '1m', prefixes: ':' })
    const fails = throwing(new Error('away'))
    for (const key of ['user:1:a', 'user:2:a']) await expect(a.getOrLoad(key, fails)).rejects.toThrow('away')
    await b.invalidatePrefix('user:1:')
    expect(await a.getOrLoad('user:1:a', () => 'there')).toBe('there')
    await expect(a.getOrLoad('user:2:a', () => 'there')).rejects.toThrow('away')
    await a.clear()
    expect(await b.getOrLoad('user:2:a', () => 'there')).toBe('there')
  })

  test('does not serve a stale value that a tag has voided, not even instead of an error', async () => {
    const { a, b, clock } = fleet({ ttl: '10s', grace: '1h', tags: ['x'] })
    await a.getOrLoad('k', () => 'old')
    await clock.advance(11_000)
    await b.invalidateTags(['x'])
    let shown: unknown
    const failing = a.getOrLoad('k', ({ stale }) => {
      shown = stale
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(shown).toBeNull()
  })

  test('keeps to its namespace', async () => {
    const { a, ways } = fleet()
    const other = createCache({ store: ways.b, namespace: 'other' })
    await a.set('k', 'v', { tags: ['x'] })
    await other.set('k', 'v', { tags: ['x'] })
    await other.invalidateTags(['x'])
    expect(await a.peek('k')).toMatchObject(there)
    expect(await other.peek('k')).toEqual(missing)
  })

  test('is one command and one event, and none for no tags', async () => {
    const { a, ways } = fleet()
    const heard = told(a, 'invalidateTags')
    await a.invalidateTags(['x', 'y', 'x'])
    await a.invalidateTags([])
    expect([ways.a.sent, heard]).toEqual([['invalidateTags'], [{ tags: ['x', 'y'] }]])
  })

  test('is waited for by close, and refused after it', async () => {
    const { a, ways } = fleet()
    const go = ways.a.hold('invalidateTags', 'before')
    const invalidating = answerOf(a.invalidateTags(['x']))
    const closing = await asked(a.close())
    expect([invalidating.state, closing.state]).toEqual(['pending', 'pending'])
    go()
    await settled()
    expect([invalidating.state, closing.state]).toEqual(['value', 'value'])
    await expect(a.invalidateTags(['x'])).rejects.toMatchObject({ code: 'CLOSED' })
  })
})

describe('tags are refused', () => {
  const many = Array.from({ length: 65 }, (_, index) => `t${index}`)

  test.for([
    [null, 'Expected `tags` to be an array of up to 64 tags, got null'],
    ['x', 'Expected `tags` to be an array of up to 64 tags, got "x" (string)'],
    [many, 'Expected `tags` to be an array of up to 64 tags, got an array'],
    [[''], 'Expected a tag to be a well-formed string of 1 to 1000 characters, got "" (string)'],
    [['x'.repeat(1_001)], 'Expected a tag to be a well-formed string of 1 to 1000 characters, got "xxxx'],
    [['\ud800'], 'Expected a tag to be a well-formed string of 1 to 1000 characters, got '],
    [[7], 'Expected a tag to be a well-formed string of 1 to 1000 characters, got 7 (number)'],
  ] as const)('that are %j', async ([bad, message]) => {
    const { a } = fleet()
    const tags = bad as unknown as string[]
    expect(() => createCache({ tags })).toThrow(message)
    await expect(a.getOrLoad('k', () => 1, { tags })).rejects.toThrow(message)
    await expect(a.set('k', 1, { tags })).rejects.toThrow(message)
    await expect(a.invalidateTags(tags)).rejects.toThrow(message)
  })

  test('by the context of a load, which then fails', async () => {
    const { a } = fleet({ tags: ['one'] })
    const tooMany = a.getOrLoad('k', ({ tags }) => tags(...many.slice(1)))
    await expect(tooMany).rejects.toMatchObject({ name: 'TypeError' })
    await expect(a.getOrLoad('l', ({ tags }) => tags(...many.slice(2)))).resolves.toBeUndefined()
  })
})
