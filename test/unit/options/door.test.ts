import { describe, expect, test } from 'vitest'
import { createCache, memoryStore, type Cache } from '../../../src/index.ts'
import { redisStore } from '../../../src/redis/index.ts'
import { fleet } from '../support/fleet.ts'

const load = (): string => 'v'

type Loose = { [Name in keyof Cache]: (...args: unknown[]) => Promise<unknown> }

function loose(cache: Cache): Loose {
  return cache as unknown as Loose
}

const badKeys = [
  ['no text', 7],
  ['nothing', undefined],
  ['null', null],
  ['empty', ''],
  ['too long', 'k'.repeat(65_537)],
  ['a text with a lone surrogate', 'a\ud800'],
] as const

describe.for(['getOrLoad', 'peek', 'set', 'invalidate'] as const)('%s', (method) => {
  test.for(badKeys)('rejects a key that is %s with a TypeError, and sends nothing', async ([, key]) => {
    const { a, ways } = fleet()
    await expect(loose(a)[method](key, load)).rejects.toThrow(TypeError)
    await expect(loose(a)[method](key, load)).rejects.toThrow(
      'Expected a key to be a well-formed string of 1 to 65536 characters',
    )
    expect(ways.a.sent).toEqual([])
  })
})

describe('getOrLoad', () => {
  test.for([
    ['nothing', undefined, 'undefined'],
    ['a value', 'v', '"v" (string)'],
    ['a promise', Promise.resolve('v'), 'an object'],
    ['options', { ttl: 1 }, 'an object'],
  ] as const)('rejects a loader that is %s', async ([, loader, got]) => {
    const { a, ways } = fleet()
    await expect(loose(a).getOrLoad('k', loader)).rejects.toThrow(
      new TypeError(`Expected a loader function for "k", got ${got}`),
    )
    expect(ways.a.sent).toEqual([])
  })

  test.for([
    ['an unknown option', { tll: 1 }, /^Unknown option `tll` of getOrLoad/],
    ['an option of the cache', { namespace: 'x' }, /^Unknown option `namespace` of getOrLoad/],
    ['a bad ttl', { ttl: 0 }, /^Expected `ttl` to be a positive number/],
    ['a bad signal', { signal: {} }, /^Expected `signal` to be an AbortSignal/],
    ['null', null, /^Expected the options of getOrLoad to be an object, got null/],
    ['a number', 60_000, /^Expected the options of getOrLoad to be an object, got 60000/],
  ] as const)('rejects %s in place of options, and sends nothing', async ([, options, message]) => {
    const { a, ways } = fleet()
    await expect(loose(a).getOrLoad('k', load, options)).rejects.toThrow(TypeError)
    await expect(loose(a).getOrLoad('k', load, options)).rejects.toThrow(message)
    expect(ways.a.sent).toEqual([])
  })
})

describe('set', () => {
  test.for([
    ['an unknown option', { tll: 1 }, /^Unknown option `tll` of set/],
    ['a bad grace', { grace: -1 }, /^Expected `grace` to be/],
  ] as const)('rejects %s', async ([, options, message]) => {
    const { a, ways } = fleet()
    await expect(loose(a).set('k', 'v', options)).rejects.toThrow(TypeError)
    await expect(loose(a).set('k', 'v', options)).rejects.toThrow(message)
    expect(ways.a.sent).toEqual([])
  })
})

describe('close', () => {
  test('rejects an option that it does not know', async () => {
    const { a } = fleet()
    await expect(loose(a).close({ timeuot: 1 })).rejects.toThrow(TypeError)
  })
})

describe('on', () => {
  test('refuses a listener that is none', () => {
    const { a } = fleet()
    expect(() => loose(a).on('hit', 'listener')).toThrow(
      new TypeError('Expected a listener function, got "listener" (string)'),
    )
  })

  test('refuses an event that there is not, for nobody would ever hear of it', () => {
    const { a } = fleet()
    expect(() => loose(a).on('hits', () => undefined)).toThrow(TypeError)
  })
})

describe('createCache', () => {
  test('throws a TypeError at once for what it cannot use', () => {
    expect(() => createCache({ tll: 1 } as object)).toThrow(TypeError)
    expect(() => createCache(null as unknown as object)).toThrow(TypeError)
    expect(() => createCache(memoryStore() as object)).toThrow(TypeError)
  })
})

describe('memoryStore', () => {
  test.for([
    [
      'an unknown option',
      { maxsize: 1 },
      'Unknown option `maxsize` of memoryStore; expected one of max, maxSize, values, clock',
    ],
    ['no values at all', { max: 0 }, 'Expected `max` to be a whole number of at least 1, got 0 (number)'],
    ['a text', { maxSize: '64mb' }, 'Expected `maxSize` to be a whole number of at least 1, got "64mb" (string)'],
    ['half a value', { max: 1.5 }, 'Expected `max` to be a whole number of at least 1, got 1.5 (number)'],
    ['no bound at all', { max: Infinity }, 'Expected `max` to be a whole number of at least 1, got Infinity (number)'],
    [
      'more room than there is',
      { max: 2 ** 40 },
      'Expected `max` to be a whole number of at least 1 and at most 16777216, got 1099511627776 (number)',
    ],
    ['a clock that is none', { clock: 5 }, 'Expected `clock` to be an object with now() and after(), got 5 (number)'],
    ['null', null, 'Expected the options of memoryStore to be an object, got null'],
    ['a number', 5, 'Expected the options of memoryStore to be an object, got 5 (number)'],
  ] as const)('throws a TypeError for %s', ([, options, message]) => {
    expect(() => memoryStore(options as object)).toThrow(new TypeError(message))
  })
})

describe('redisStore', () => {
  const methods = ['getBuffer', 'mgetBuffer', 'callBuffer', 'duplicate'] as const
  const client = (): object => Object.fromEntries(methods.map((method) => [method, () => null]))

  test('throws a TypeError for options that are none', () => {
    for (const options of [null, 5, 'push']) {
      expect(() => redisStore(client() as never, options as never)).toThrow('Expected the options of redisStore to be')
    }
  })

  test.for(methods)('throws a TypeError for a client without %s', (method) => {
    expect(() => redisStore(client() as never)).not.toThrow()
    const without = { ...client(), [method]: undefined }
    expect(() => redisStore(without as never)).toThrow(TypeError)
    expect(() => redisStore(without as never)).toThrow(/^Expected a client of ioredis .*, got an object$/)
  })
})

describe('what options inherit', () => {
  test('is not looked at', async () => {
    const cache = createCache(Object.create({ store: 5, ttl: -1 }) as object)
    const options = Object.create({ signal: AbortSignal.abort(), ttl: -1 }) as object
    expect(await cache.getOrLoad('k', load, options)).toBe('v')
  })
})
