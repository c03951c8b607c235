import { describe, expect, test } from 'vitest'
import { createCache, memoryStore, type Cache } from '../../../src/index.ts'
import { redisStore } from '../../../src/redis/index.ts'
import { fleet } from '../support/fleet.ts'

const load = (): string => 'v'

type Loose = { [Name in keyof Cache]: (...args: unknown[]) => Promise<unknown> }

const badKey = 'Expected a key to be a well-formed string of 1 to 65536 characters, got '

const takers: Record<string, (cache: Loose, options: unknown) => Promise<unknown>> = {
  getOrLoad: (cache, options) => cache.getOrLoad('k', load, options),
  set: (cache, options) => cache.set('k', 'v', options),
  close: (cache, options) => cache.close(options),
}
const noOptions = Object.entries(takers).flatMap(([name, call]) =>
  [null, 5, 'ttl', true, () => 5].map((options) => {
    return [(cache: Loose) => call(cache, options), `Expected the options of ${name} to be an object, got `] as const
  }),
)

// Of keys, and of the options of a cache, plan.test.ts has all that is refused.
test.for<readonly [call: (cache: Loose) => Promise<unknown>, message: string]>([
  ...noOptions,
  [(cache) => cache.getOrLoad(7, load), `${badKey}7 (number)`],
  [(cache) => cache.peek(''), `${badKey}one of 0 characters`],
  [(cache) => cache.set(undefined, 'v'), `${badKey}undefined`],
  [(cache) => cache.invalidate('a\ud800'), `${badKey}one with a lone surrogate`],
  [(cache) => cache.getOrLoad('k'), 'Expected a loader function for "k", got undefined'],
  [(cache) => cache.getOrLoad('k', 'v'), 'Expected a loader function for "k", got "v" (string)'],
  [(cache) => cache.getOrLoad('k', Promise.resolve('v')), 'Expected a loader function for "k", got a promise'],
  [(cache) => cache.getOrLoad('k', { ttl: 1 }), 'Expected a loader function for "k", got an object'],
  [(cache) => cache.getOrLoad('k', load, { tll: 1 }), 'Unknown option `tll` of getOrLoad'],
  [(cache) => cache.getOrLoad('k', load, { namespace: 'x' }), 'Unknown option `namespace` of getOrLoad'],
  [(cache) => cache.getOrLoad('k', load, { ttl: 0 }), 'Expected `ttl` to be a positive number'],
  [(cache) => cache.getOrLoad('k', load, { signal: {} }), 'Expected `signal` to be an AbortSignal'],
  [(cache) => cache.set('k', 'v', { tll: 1 }), 'Unknown option `tll` of set'],
  [(cache) => cache.set('k', 'v', { grace: -1 }), 'Expected `grace` to be'],
  [(cache) => cache.close({ timeuot: 1 }), 'Unknown option `timeuot` of close'],
])('a method rejects what it cannot use with a TypeError, and sends nothing: %o, %s', async ([call, message]) => {
  const { a, ways } = fleet()
  const answer = call(a as unknown as Loose)
  await expect(answer).rejects.toThrow(TypeError)
  await expect(answer).rejects.toThrow(message)
  expect(ways.a.sent).toEqual([])
  expect(await a.getOrLoad('k', () => 'open')).toBe('open')
})

test('a listener that is none is refused, and an event that there is not, for nobody would ever hear of it', () => {
  const { a } = fleet()
  const on = (name: string, listener: unknown) => () => a.on(name as never, listener as never)
  expect(on('hit', 'listener')).toThrow(new TypeError('Expected a listener function, got "listener" (string)'))
  expect(on('hits', () => undefined)).toThrow(TypeError)
})

test('createCache throws a TypeError at once for what it cannot use', () => {
  for (const options of [{ tll: 1 }, null, memoryStore()])
    expect(() => createCache(options as object)).toThrow(TypeError)
})

const max = 'Expected `max` to be a whole number of at least 1'

test.for<[options: unknown, message: string]>([
  [
    { maxsize: 1 },
    'Unknown option `maxsize` of memoryStore (did you mean `maxSize`?); expected one of max, maxSize, values, clock',
  ],
  [{ max: 0 }, `${max}, got 0 (number)`],
  [{ max: 1.5 }, `${max}, got 1.5 (number)`],
  [{ max: Infinity }, `${max}, got Infinity (number)`],
  [{ max: 2 ** 40 }, `${max} and at most 16777216, got 1099511627776 (number)`],
  [{ maxSize: '64mb' }, 'Expected `maxSize` to be a whole number of at least 1, got "64mb" (string)'],
  [{ clock: 5 }, 'Expected `clock` to be an object with now() and after(), got 5 (number)'],
  [null, 'Expected the options of memoryStore to be an object, got null'],
  [5, 'Expected the options of memoryStore to be an object, got 5 (number)'],
])('memoryStore throws a TypeError for %j', ([options, message]) => {
  expect(() => memoryStore(options as object)).toThrow(new TypeError(message))
})

describe('redisStore throws a TypeError', () => {
  const methods = ['getBuffer', 'mgetBuffer', 'callBuffer', 'duplicate'] as const
  const client = (): object => Object.fromEntries(methods.map((method) => [method, () => null]))

  test('for options that are none', () => {
    for (const options of [null, 5, 'push']) {
      expect(() => redisStore(client() as never, options as never)).toThrow('Expected the options of redisStore to be')
    }
  })

  test('for the promise of a client, which is to be awaited first', () => {
    const promise = Promise.resolve(client())
    expect(() => redisStore(promise as never)).toThrow(/^Expected a client .*, got a promise: await it first$/)
  })

  test.for(methods)('for a client without %s', (method) => {
    expect(() => redisStore(client() as never)).not.toThrow()
    const without = { ...client(), [method]: undefined }
    expect(() => redisStore(without as never)).toThrow(TypeError)
    expect(() => redisStore(without as never)).toThrow(/^Expected a client of ioredis .*, got an object$/)
  })
})

test('what options inherit is not looked at', async () => {
  const cache = createCache(Object.create({ store: 5, ttl: -1 }) as object)
  const options = Object.create({ signal: AbortSignal.abort(), ttl: -1 }) as object
  expect(await cache.getOrLoad('k', load, options)).toBe('v')
})
