import { describe, expect, test, vi } from 'vitest'
import { createCache, loadContext, type Cache, type WrapOptions } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, asked, pending, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { Source, throwing } from '../support/source.ts'

/** A source whose function has the arguments of a user's. */
class Users extends Source<string> {
  readonly asked: unknown[][] = []

  readonly byId = async (id: number, locale?: string): Promise<string> => {
    this.asked.push([id, locale])
    return this.loader(loadContext() as NonNullable<ReturnType<typeof loadContext>>)
  }
}

describe('a wrapped function', () => {
  test('is called once in the fleet for all who ask with the same arguments', async () => {
    const { all, a } = fleet()
    const users = new Users()
    const wrapped = all.map((cache) => cache.wrap(users.byId, { key: 'user' }))
    const answers = await allAsked(wrapped.flatMap((byId) => [byId(42, 'de'), byId(42, 'de')]))
    expect(users.asked).toEqual([[42, 'de']])
    await users.resolve(0, 'Ada')
    expect(answers).toEqual(Array(6).fill(valued('Ada')))
    expect(await a.peek('user(42,"de")')).toMatchObject({ state: 'fresh', value: 'Ada' })
  })

  test('is called for each list of arguments', async () => {
    const { a, b } = fleet()
    const calls: unknown[][] = []
    const fn = async (...args: unknown[]): Promise<unknown[]> => (calls.push(args), args)
    const [one, other] = [a, b].map((cache) => cache.wrap(fn, { key: 'f' }))
    const lists = [[1], ['1'], [1n], [[1]], [1, 2], [[1, 2]], ['1,2'], [{ a: 1 }], ['{a:1}'], [null], [], [-0], [0]]
    for (const list of lists) {
      expect(await one?.(...list)).toEqual(list)
      expect(await other?.(...list)).toEqual(list)
    }
    expect(calls).toEqual(lists)
  })

  test('makes a promise of what is synchronous, and has the name and length of what was wrapped', async () => {
    const { a } = fleet()
    const double = a.wrap(
      function double(n: number) {
        return n * 2
      },
      { key: 'double' },
    )
    const promise = double(21)
    expect(promise).toBeInstanceOf(Promise)
    expect(await promise).toBe(42)
    expect([double.name, double.length]).toEqual(['double', 1])
  })

  test('gives its errors as the cause of LOAD_FAILED, to all who ask within the cool-down', async () => {
    const { a, b } = fleet()
    const cause = new Error('down')
    const fail = vi.fn(throwing(cause))
    const [one, other] = [a, b].map((cache) => cache.wrap(fail, { key: 'fail' }))
    await expect(one?.()).rejects.toBe(cause)
    await expect(other?.()).rejects.toMatchObject({ message: 'down' })
    expect(fail).toHaveBeenCalledOnce()
  })

  test('gets the this of the caller whose call loads', async () => {
    const { a } = fleet()
    const seen: unknown[] = []
    const users = {
      byId: a.wrap(
        async function (this: unknown, id: number) {
          seen.push(this)
          return id
        },
        { key: 'user' },
      ),
    }
    await users.byId(1)
    await users.byId.call(undefined, 2)
    await users.byId.refresh.call(users, 1)
    await users.byId.refresh(1)
    expect(seen).toEqual([users, undefined, users, undefined])
    expect([seen[0] === users, seen[2] === users]).toEqual([true, true])
  })

  test('is given what its key says, whatever becomes of the objects afterwards', async () => {
    const { a } = fleet()
    const list = a.wrap(async (query: { page: number; by: string[] }) => `${query.page} ${query.by}`, { key: 'list' })
    const query = { page: 1, by: ['name'] }
    const first = list(query)
    query.page = 2
    query.by.push('age')
    const second = list(query)
    expect(await Promise.all([first, second])).toEqual(['1 name', '2 name,age'])
    expect(await a.peek('list({by:["name"],page:1})')).toMatchObject({ value: '1 name' })
  })

  test('rejects with a TypeError, and is not called, where no key can be made', async () => {
    const { a, ways } = fleet()
    const fn = vi.fn(async (callback: unknown) => callback)
    const wrapped = a.wrap(fn, { key: 'f' })
    const message = 'Cannot make a key of the arguments of f: args[0] is a function'
    const made = [wrapped(() => 1), wrapped.refresh(() => 1), wrapped.peek(() => 1), wrapped.invalidate(() => 1)]
    for (const promise of made) await expect(promise).rejects.toThrow(message)
    expect(() => wrapped.keyOf(() => 1)).toThrow(message)
    expect(fn).not.toHaveBeenCalled()
    expect(ways.a.sent).toEqual([])
  })
})

describe('the methods of a wrapped function', () => {
  test('invalidate and peek the key of their arguments', async () => {
    const { a, b } = fleet()
    let version = 0
    const [one, other] = [a, b].map((cache) => cache.wrap(async (id: number) => `${id}.${++version}`, { key: 'v' }))
    expect([await one?.(1), await one?.(2)]).toEqual(['1.1', '2.2'])
    await other?.invalidate(1)
    expect(await one?.peek(1)).toEqual({ state: 'missing' })
    expect(await one?.peek(2)).toMatchObject({ state: 'fresh', value: '2.2' })
    expect([await one?.(1), await one?.(2)]).toEqual(['1.3', '2.2'])
  })

  test('invalidate during a load: nobody who asks afterwards is given what it brings', async () => {
    const { a, b } = fleet()
    const users = new Users()
    const [one, other] = [a, b].map((cache) => cache.wrap(users.byId, { key: 'user' }))
    const before = await asked(one?.(1) as Promise<string>)
    await other?.invalidate(1, undefined)
    const after = await asked(other?.(1) as Promise<string>)
    await users.resolve(0, 'old')
    expect(after).toEqual(pending)
    await users.resolve(1, 'new')
    expect([before, after]).toEqual(Array(2).fill(valued('new')))
    expect(users.runs).toHaveLength(2)
  })

  test('refresh loads anew although there is a value, once in the fleet', async () => {
    const { all, b } = fleet()
    const users = new Users()
    const wrapped = all.map((cache) => cache.wrap(users.byId, { key: 'user' }))
    await b.set('user(1)', 'old')
    const answers = await allAsked(wrapped.map((byId) => byId.refresh(1)))
    expect(await wrapped[2]?.(1)).toBe('old')
    await users.resolve(0, 'new')
    expect(answers).toEqual(Array(3).fill(valued('new')))
    expect(await wrapped[2]?.(1)).toBe('new')
    expect(users.runs).toHaveLength(1)
  })

  test('can be taken off the function', async () => {
    const { a } = fleet()
    let n = 0
    const { refresh, peek, keyOf, invalidate } = a.wrap(async (id: number) => id + ++n, { key: 'n' })
    expect(await refresh(1)).toBe(2)
    expect(await peek(1)).toMatchObject({ value: 2 })
    await invalidate(1)
    expect(await a.peek(keyOf(1))).toEqual({ state: 'missing' })
  })
})

describe('the context of a load', () => {
  test('is there for a wrapped function, and for what it calls', async () => {
    const { a, b, clock } = fleet({ ttl: '1h' })
    const find = async (id: number): Promise<number> => {
      await settled()
      if (id === 404) loadContext()?.ttl('1s')
      if (id === 7) loadContext()?.doNotStore()
      return id
    }
    const user = a.wrap(async (id: number) => find(id), { key: 'user' })
    await Promise.all([user(1), user(404), user(7)])
    expect(await Promise.all([1, 404, 7].map((id) => b.peek(`user(${id})`)))).toMatchObject([
      { ttl: 3_600_000 },
      { ttl: 1_000 },
      { state: 'missing' },
    ])
    await clock.advance(2_000)
    expect(await user.peek(404)).toEqual({ state: 'missing' })
  })

  test('is aborted when its load is void', async () => {
    const { a, b, clock } = fleet()
    const signals: (AbortSignal | undefined)[] = []
    const user = a.wrap(async () => (signals.push(loadContext()?.signal), new Promise(() => {})), { key: 'user' })
    await asked(user())
    await b.invalidate('user()')
    // The next load waits for this one, though not for long: it does not look at its signal.
    await clock.advance(250)
    expect(signals.map((signal) => (signal?.reason as { code?: string } | undefined)?.code)).toEqual([
      'LEASE_LOST',
      undefined,
    ])
  })

  test('is that of the innermost load, which may have none of this kind', async () => {
    const { a } = fleet()
    const keys: unknown[] = []
    const note = (): void => void keys.push(loadContext()?.key)
    const inner = a.wrap(async () => note(), { key: 'inner' })
    const outer = a.wrap(
      async () => {
        note()
        await inner()
        note()
        await a.getOrLoad('plain', async () => note())
        note()
      },
      { key: 'outer' },
    )
    await outer()
    expect(keys).toEqual(['outer()', 'inner()', 'outer()', undefined, 'outer()'])
  })

  test('is null where nothing is loaded', async () => {
    const fn = async (): Promise<unknown> => loadContext()
    expect(await fn()).toBeNull()
    expect(loadContext()).toBeNull()
  })

  test('is there without a store, too', async () => {
    const { a, ways } = fleet()
    ways.a.mode = 'failing'
    const user = a.wrap(async () => loadContext()?.fence, { key: 'user' })
    expect(await user()).toBeNull()
  })
})

describe('the options of wrap', () => {
  test('hold for each call', async () => {
    const { a, b } = fleet()
    const options = { key: 'f', ttl: '5s', grace: '1m' } as const
    const f = a.wrap(async () => 1, options)
    await f()
    expect(await b.peek('f()')).toMatchObject({ ttl: 5_000 })
    await f.refresh()
    expect(await b.peek('f()')).toMatchObject({ ttl: 5_000 })
  })

  test('are those of the moment of wrapping, and are looked at in it alone', async () => {
    const { a, b } = fleet()
    let looks = 0
    const negativeTtl = {
      get null() {
        looks++
        return 1
      },
    }
    const options = { key: 'f', ttl: 5_000, negativeTtl }
    const f = a.wrap(async () => 1, options)
    const atFirst = looks
    options.ttl = -1
    await Promise.all([f(), f.refresh(), f()])
    expect(await b.peek('f()')).toMatchObject({ ttl: 5_000 })
    expect([atFirst > 0, looks]).toEqual([true, atFirst])
  })

  test.for<[string, unknown]>([
    ['Expected the options of wrap to be an object with a `key`, got undefined', undefined],
    ['Expected the options of wrap to be an object with a `key`, got null', null],
    ['Expected the options of wrap to be an object with a `key`, got "user" (string)', 'user'],
    ['Expected `key` to be a name of 1 to 200 characters without parentheses, or a function', {}],
    ['got "" (string)', { key: '' }],
    ['got "a(1)" (string)', { key: 'a(1)' }],
    ['got "a(" (string)', { key: 'a(' }],
    ['got "a)" (string)', { key: 'a)' }],
    ['without parentheses', { key: 'x'.repeat(201) }],
    ['without parentheses', { key: 'a\ud800' }],
    ['got 5 (number)', { key: 5 }],
    ['Unknown option `tll` of wrap (did you mean `ttl`?); expected one of ttl, ', { key: 'a', tll: '1m' }],
    ['Expected `ttl` to be a positive number of milliseconds', { key: 'a', ttl: 0 }],
    ['Unknown option `signal` of wrap', { key: 'a', signal: new AbortController().signal }],
  ])('refuses at once: %s', ([message, options]) => {
    const { a } = fleet()
    const wrap = (): unknown => a.wrap(async () => 1, options as WrapOptions<[]>)
    expect(wrap).toThrow(TypeError)
    expect(wrap).toThrow(message)
  })

  test('refuse what is no function', () => {
    const { a } = fleet()
    expect(() => a.wrap('fn' as unknown as () => 1, { key: 'a' })).toThrow(
      'Expected a function to wrap, got "fn" (string)',
    )
  })

  test('refuse a name that the cache knows already, for two functions would share their values', async () => {
    const { a, b } = fleet()
    const wrap = (cache: Cache) => cache.wrap(async () => 1, { key: 'user' })
    expect(() => a.wrap(async () => 1, { key: 'user', ttl: -1 })).toThrow('`ttl`')
    expect(await wrap(a)()).toBe(1)
    expect(() => wrap(a)).toThrow(TypeError)
    expect(() => wrap(a)).toThrow('this cache has wrapped a function as "user" (string) already')
    expect(await wrap(b)()).toBe(1)
  })
})

describe('a function that makes keys', () => {
  test('is given the arguments, whatever they are, and makes the whole key', async () => {
    const { a, b } = fleet()
    const fetchPage = async (url: URL): Promise<string> => url.pathname
    const page = a.wrap(fetchPage, { key: ({ host }) => `page:${host}` })
    expect(await page(new URL('https://example.org/a'))).toBe('/a')
    expect(await page(new URL('https://example.org/b'))).toBe('/a')
    expect(page.keyOf(new URL('https://example.org/b'))).toBe('page:example.org')
    await page.invalidate(new URL('https://example.org/c'))
    expect(await b.peek('page:example.org')).toEqual({ state: 'missing' })
    expect(() => a.wrap(fetchPage, { key: ({ host }) => `page:${host}` })).not.toThrow()
  })

  test('may not make anything but a key', async () => {
    const a = createCache()
    const make = (key: unknown) => a.wrap(async () => 1, { key: () => key as string })
    for (const key of [undefined, 5, '', 'x'.repeat(65_537), '\ud800', Promise.resolve('k')]) {
      await expect(make(key)()).rejects.toThrow('Expected a key to be a well-formed string of 1 to 65536 characters')
      expect(() => make(key).keyOf()).toThrow(TypeError)
    }
    const cause = new Error('no')
    await expect(a.wrap(async () => 1, { key: throwing(cause) })()).rejects.toBe(cause)
  })
})
