import { describe, expect, test } from 'vitest'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, asked, valued } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'
import { loading, Source } from '../support/source.ts'

/** An entity, as of an ORM. */
class User {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

const ann = new User('Ann')

describe('a value that cannot be stored', () => {
  test('goes to the callers of the process whose loader ran, and the others load side by side (rule 5)', async () => {
    const { a, b, c } = fleet()
    const source = new Source<User>()
    const answers = await allAsked([a, a, b, b, c].map((cache) => cache.getOrLoad('k', source.loader)))
    await source.resolve(0, ann)
    expect(answers).toMatchObject([valued(ann), valued(ann), {}, {}, {}])
    expect(source.runs).toHaveLength(4)
    for (const [index, run] of source.runs.entries()) run.resolve(new User(`number ${index}`))
    await settled()
    const names = answers.map((answer) => (answer.state === 'value' ? (answer.value as User).name : answer.state))
    expect(names.slice(0, 2)).toEqual(['Ann', 'Ann'])
    expect(names.slice(2).toSorted()).toEqual(['number 1', 'number 2', 'number 3'])
    expect(await a.peek('k')).toEqual({ state: 'missing' })
  })

  test('goes to the caller if it is too large, and a set of it is refused', async () => {
    const { a, b } = fleet({ maxValueSize: 10 })
    expect(await a.getOrLoad('k', () => '12345678+')).toBe('12345678+')
    expect(await b.getOrLoad('k', () => '12345678')).toBe('12345678')
    expect(await b.peek('k')).toEqual({ state: 'missing' })
    await expect(a.set('k', '12345678+')).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE' })
    await expect(a.set('k', ann)).rejects.toMatchObject({ code: 'VALUE_NOT_SERIALIZABLE' })
  })

  test('goes to a caller that has joined its load, because the lease was held to the end (rule 2)', async () => {
    const { a } = fleet()
    const { source, answer } = await loading(a)
    const joined = await asked(a.getOrLoad('k', source.loader))
    await source.resolve(0, ann as never)
    expect([answer, joined]).toEqual([valued(ann), valued(ann)])
    expect(source.runs).toHaveLength(1)
  })

  test('goes to no caller that joins after the invalidation of one of its tags (rule 4)', async () => {
    const { a, b } = fleet({ tags: ['t'] })
    const { source, answer } = await loading(a)
    await b.invalidateTags(['t'])
    const joined = await asked(a.getOrLoad('k', source.loader))
    await source.resolve(0, ann as never)
    expect(answer).toEqual(valued(ann))
    expect(joined).toEqual({ state: 'pending' })
    await source.resolve(1, 'new')
    expect(joined).toEqual(valued('new'))
  })

  test('goes to nobody if its key was invalidated while it was loaded (rule 2)', async () => {
    const { a, b, ways } = fleet()
    ways.a.messages = 'lost'
    const { source, answer } = await loading(a)
    await b.invalidate('k')
    const joined = await asked(a.getOrLoad('k', source.loader))
    await source.resolve(0, ann as never)
    expect([answer, joined]).toMatchObject([{ state: 'pending' }, { state: 'pending' }])
    await source.resolve(1, 'new')
    expect([answer, joined]).toEqual([valued('new'), valued('new')])
    expect(await b.peek('k')).toMatchObject({ value: 'new' })
  })

  test('goes to those that asked before the load began if the store does not accept its end (rule 2)', async () => {
    const { a, ways, clock } = fleet()
    const { source, answer } = await loading(a)
    const joined = await asked(a.getOrLoad('k', source.loader))
    ways.a.mode = 'failing'
    await source.resolve(0, ann as never)
    expect(answer).toEqual(valued(ann))
    expect(joined).toMatchObject({ state: 'pending' })
    await clock.advance(0)
    await source.resolve(1, 'later')
    expect(joined).toEqual(valued('later'))
  })

  test('is STORE_UNAVAILABLE then, if that is what the callers want', async () => {
    const { a, ways } = fleet({ onStoreFailure: 'throw' })
    const { source, answer } = await loading(a)
    ways.a.mode = 'failing'
    await source.resolve(0, ann as never)
    expect(answer).toMatchObject({ error: { code: 'STORE_UNAVAILABLE' } })
  })

  test('is not followed by an older one in the process whose callers had it', async () => {
    const { a, b, clock } = fleet()
    await b.set('k', 'old')
    await clock.advance(1)
    expect(await a.refresh('k', () => ann)).toBe(ann)
    expect(await a.getOrLoad('k', () => 'newer')).toBe('newer')
    await clock.advance(1_000)
    expect(await a.getOrLoad('k', () => 'newest')).toBe('newest')
    expect(await b.getOrLoad('k', () => 'wrong')).toBe('newest')
  })

  test('does not end the use of a stale one that it was to replace unseen', async () => {
    const { a, clock } = fleet({ ttl: '1s', grace: '1m' })
    await a.set('k', 'old')
    await clock.advance(1_000)
    for (let round = 0; round < 3; round++) {
      expect(await a.getOrLoad('k', () => ann)).toBe('old')
      await clock.advance(500)
    }
  })

  test('is told of by an event', async () => {
    const { a } = fleet()
    const events = told(a, 'unstorable')
    await a.getOrLoad('k', () => ({ users: [ann] }))
    expect(events).toMatchObject([{ key: 'k', error: { code: 'VALUE_NOT_SERIALIZABLE', key: 'k' } }])
    expect(events[0]?.error.message).toContain('an instance of User at value.users[0]')
    expect(a.stats().failures).toBe(0)
  })
})

describe('a value that cannot be stored, loaded without the store', () => {
  test('goes to the callers that asked before its load began', async () => {
    const { a, ways, clock } = fleet()
    ways.a.mode = 'failing'
    const source = new Source<User>()
    const answers = await allAsked([a, a].map((cache) => cache.getOrLoad('k', source.loader)))
    const late = await asked(a.getOrLoad('k', source.loader))
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, ann)
    expect(answers).toEqual([valued(ann), valued(ann)])
    expect(late).toMatchObject({ state: 'pending' })
    await clock.advance(0)
    await source.resolve(1, new User('Bob'))
    expect(late).toEqual(valued(new User('Bob')))
  })

  test('is told of by an event, and fails nowhere', async () => {
    const { a, ways } = fleet()
    ways.a.mode = 'failing'
    const events = told(a, 'unstorable')
    expect(await a.getOrLoad('k', () => ann)).toBe(ann)
    expect(events).toMatchObject([{ key: 'k', error: { code: 'VALUE_NOT_SERIALIZABLE' } }])
    expect(a.stats().failures).toBe(0)
  })

  test('is not followed by an older one when the store is back', async () => {
    const { a, b, ways, clock } = fleet()
    await b.set('k', 'old', { ttl: '1h' })
    await clock.advance(1)
    ways.a.mode = 'failing'
    expect(await a.getOrLoad('k', () => ann)).toBe(ann)
    ways.a.mode = 'answering'
    await clock.advance(60_000)
    expect(await a.getOrLoad('k', () => 'newer')).toBe('newer')
  })

  test('is not followed by an older copy', async () => {
    const { a, ways } = fleet({ near: { ttl: '1h' } })
    await a.set('k', 'old')
    expect(await a.getOrLoad('k', () => 'wrong')).toBe('old')
    ways.a.mode = 'failing'
    expect(await a.refresh('k', () => ann)).toBe(ann)
    expect(await a.getOrLoad('k', () => 'newer')).toBe('newer')
  })

  test('fails for all where that is an error', async () => {
    const { a, ways } = fleet({ unstorable: 'throw' })
    ways.a.mode = 'failing'
    await expect(a.getOrLoad('k', () => ann)).rejects.toMatchObject({ code: 'VALUE_NOT_SERIALIZABLE' })
    expect(await a.getOrLoad('k', () => ann, { unstorable: 'pass' })).toBe(ann)
  })
})
