import { describe, expect, test } from 'vitest'
import type { LoadContext } from '../../../src/index.ts'
import { fleet } from '../support/fleet.ts'

/** A source that says what it recognises its page by, and answers 304 to whoever has it. */
class Source {
  etag = '"1"'
  asked: (string | undefined)[] = []

  readonly load = ({ stale, validators, notModified }: LoadContext): unknown => {
    this.asked.push(stale?.etag)
    if (stale?.etag === this.etag) return notModified()
    validators({ etag: this.etag, lastModified: 'Sat, 21 Nov 2026 08:00:00 GMT' })
    return { page: this.etag }
  }
}

describe('notModified', () => {
  test('keeps the stale value for another ttl, and what it is recognised by', async () => {
    const { a, b, c, clock } = fleet({ ttl: '10s', grace: '1h', softTimeout: '1s' })
    const source = new Source()
    expect(await a.getOrLoad('k', source.load)).toEqual({ page: '"1"' })
    for (const cache of [b, c, a]) {
      await clock.advance(11_000)
      expect(await cache.getOrLoad('k', source.load)).toEqual({ page: '"1"' })
      expect(await cache.peek('k')).toMatchObject({ state: 'fresh', ttl: 10_000 })
    }
    source.etag = '"2"'
    await clock.advance(11_000)
    expect(await b.getOrLoad('k', source.load)).toEqual({ page: '"2"' })
    expect(source.asked).toEqual([undefined, '"1"', '"1"', '"1"', '"1"'])
  })

  test('is shown by a refresh, and by a refresh ahead', async () => {
    const { a, b, clock } = fleet({ ttl: '10s' })
    const source = new Source()
    await a.getOrLoad('k', source.load)
    await b.refresh('k', source.load)
    await clock.advance(5_000)
    await a.getOrLoad('k', source.load, { refreshAhead: 0.1 })
    await clock.advance(0)
    expect(source.asked).toEqual([undefined, '"1"', '"1"'])
    expect(await b.peek('k')).toMatchObject({ ttl: 10_000 })
  })

  test('lets the loader say other validators with the same value', async () => {
    const { a } = fleet()
    await a.getOrLoad('k', ({ validators }) => {
      validators({ etag: '"1"' })
      return 'v'
    })
    await a.refresh('k', ({ validators, notModified }) => {
      validators({ lastModified: 'now' })
      return notModified()
    })
    let shown: unknown
    await a.refresh('k', ({ stale }) => {
      shown = stale
    })
    expect(shown).toEqual({ value: 'v', age: 0, lastModified: 'now' })
  })

  test('fails a load that replaces nothing', async () => {
    const { a } = fleet()
    const error = { name: 'TypeError', message: 'Expected a stale value of "k" that was not modified: there is none' }
    await expect(a.getOrLoad('k', ({ notModified }) => notModified())).rejects.toMatchObject(error)
  })

  test('is of no use for a value that was invalidated', async () => {
    const { a, b } = fleet({ tags: ['t'], grace: '1h' })
    const source = new Source()
    await a.getOrLoad('k', source.load)
    await b.invalidateTags(['t'])
    await a.getOrLoad('k', source.load)
    await b.invalidate('k')
    await a.getOrLoad('k', source.load)
    expect(source.asked).toEqual([undefined, undefined, undefined])
  })
})

test.for([
  [null, 'Expected validators to be an object with `etag` or `lastModified`, got null'],
  ['"1"', 'Expected validators to be an object with `etag` or `lastModified`, got "\\"1\\"" (string)'],
  [{ etag: 7 }, 'Expected `etag` to be a well-formed string of up to 1000 characters, got 7 (number)'],
  [
    { lastModified: new Date(0) },
    'Expected `lastModified` to be a well-formed string of up to 1000 characters, got an object',
  ],
  [{ etag: 'x'.repeat(1_001) }, 'Expected `etag` to be a well-formed string of up to 1000 characters, got "xxx'],
  [{ etag: '\ud800' }, 'Expected `etag` to be a well-formed string'],
] as const)('validators are refused that are %j', async ([bad, message]) => {
  const { a } = fleet()
  const loading = a.getOrLoad('k', ({ validators }) => validators(bad as { etag?: string }))
  const error: unknown = await loading.catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ name: 'TypeError' })
  expect((error as Error).message).toContain(message)
})
