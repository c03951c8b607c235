import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { replaceableClock, systemClock } from '../../../src/core/time/clock.ts'
import { jsonCodec } from '../../../src/core/codec/codec.ts'
import { noErrors } from '../../../src/core/codec/portable-error.ts'
import { checkKey, namespacePrefix } from '../../../src/core/entry/key.ts'
import type { CacheOptions, CallOptions } from '../../../src/core/options/options.ts'
import { planOf, refinePlan, siblingPlan } from '../../../src/core/options/plan.ts'
import { memoryStore } from '../../../src/index.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const durations = 'ttl grace leaseTtl waitTimeout softTimeout hardTimeout failureCooldown commandTimeout'.split(' ')
const mayBeZero = ['grace', 'softTimeout', 'failureCooldown']

function plan(options: object): unknown {
  return planOf(options as CacheOptions)
}

function call(options: object): unknown {
  return refinePlan(planOf({}), options as CallOptions)
}

describe('the plan of a cache', () => {
  test('has the documented defaults', () => {
    const { codec, clock, errors, ...rest } = planOf({})
    expect(rest).toEqual({
      ttl: 60_000,
      grace: 0,
      jitter: 0,
      negativeTtl: {},
      refreshAhead: null,
      warnings: true,
      tags: [],
      leaseTtl: 10_000,
      waitTimeout: 31_000,
      isWaitGiven: false,
      softTimeout: 0,
      hardTimeout: 30_000,
      failureCooldown: 1_000,
      errorKind: null,
      onStoreFailure: 'load',
      maxValueSize: 16_777_216,
      unstorable: 'pass',
      source: null,
      priority: 'normal',
      schema: null,
      version: null,
      migrate: [],
      inlineLimit: 4_096,
      namespace: 'herdless',
      prefixes: null,
      near: null,
      bridge: 1_000,
      mode: 'cache',
      sources: new Map(),
      maxConcurrentLoads: 64,
      maxQueuedLoads: 1_000,
      onInvalidateFailure: 'throw',
      commandTimeout: 500,
    })
    expect(Object.keys(codec)).toEqual(Object.keys(jsonCodec()))
    expect(clock).toBe(replaceableClock)
    expect(errors).toBe(noErrors)
  })

  test('goes by the clock of the store, and by that of this machine if the store has none', () => {
    const clock = new FakeClock()
    expect(planOf({ store: memoryStore({ clock }) }).clock).toBe(clock)
    expect(planOf({ store: Object.assign(memoryStore(), { clock: undefined }) }).clock).toBe(systemClock)
  })

  test('keeps what is given, durations in milliseconds', () => {
    const codec = jsonCodec()
    const clock = new FakeClock()
    const given: CacheOptions = { ttl: '5m', grace: '1h', namespace: 'shop', maxConcurrentLoads: 1, codec, clock }
    const { ttl, grace, ...rest } = planOf({ ...given, onStoreFailure: 'throw' })
    expect({ ttl, grace }).toEqual({ ttl: 300_000, grace: 3_600_000 })
    expect(rest).toMatchObject({
      namespace: 'shop',
      maxConcurrentLoads: 1,
      onStoreFailure: 'throw',
    })
    expect(rest.codec).toBe(codec)
    expect(rest.clock).toBe(clock)
  })

  test('of responses lets most of them travel in the message that wakes the waiters', () => {
    expect(siblingPlan(planOf({}), { codec: jsonCodec() }).inlineLimit).toBe(65_536)
  })

  test('takes undefined for "not given"', () => {
    const all = Object.fromEntries(
      [...durations, 'store', 'namespace', 'codec', 'clock'].map((name) => [name, undefined]),
    )
    expect(JSON.stringify(plan(all))).toBe(JSON.stringify(planOf({})))
  })

  test('refuses an option that it does not know, and names those that it knows', () => {
    expect(() => plan({ tll: 5 })).toThrow(
      new TypeError(
        'Unknown option `tll` of createCache (did you mean `ttl`?); expected one of ttl, grace, jitter, negativeTtl, refreshAhead, tags, leaseTtl, waitTimeout, softTimeout, hardTimeout, ' +
          'failureCooldown, errorKind, onStoreFailure, maxValueSize, unstorable, source, version, store, namespace, prefixes, near, bridge, mode, sources, maxConcurrentLoads, maxQueuedLoads, onInvalidateFailure, ' +
          'commandTimeout, codec, errors, warnings, clock',
      ),
    )
  })

  test.for([[[], 'an array'] as const, [new Map([['max', 5]]), 'a Map'] as const, [new Set(), 'a Set'] as const])(
    'are an object of names, not %j',
    ([given, what]) => {
      expect(() => plan(given)).toThrow(
        new TypeError(`Expected the options of createCache to be an object, got ${what}`),
      )
      expect(() => plan({ near: given })).toThrow(
        new TypeError(`Expected the options of \`near\` to be an object, got ${what}`),
      )
    },
  )

  test.for([
    ['TTL', 'ttl'],
    ['jiter', 'jitter'],
    ['comandTimeuot', 'commandTimeout'],
    ['prefixse', 'prefixes'],
    ['hard_timeout', 'hardTimeout'],
    ['staleWhileRevalidate', 'grace'],
    ['maxAge', 'ttl'],
    ['keyPrefix', 'namespace'],
    ['l1', 'near'],
    ['redis', 'store: redisStore(redis)'],
    ['client', 'store: redisStore(client)'],
    ['storage', 'store'],
  ])('takes %s for another word for %s', ([name = '', meant]) => {
    expect(() => plan({ [name]: 5 })).toThrow(
      `\`${name}\` of createCache (did you mean \`${meant}\`?); expected one of`,
    )
  })

  const strange = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'x'.repeat(1_000_000)]

  test.for(['zzz', 'x', 'signal', ...strange])('takes %s for nothing, and cuts it', (name) => {
    expect(() => plan(JSON.parse(`{ ${JSON.stringify(name)}: 1 }`) as object)).toThrow(
      `Unknown option \`${name.slice(0, 60)}\` of createCache; expected one of`,
    )
  })

  test('suggests no option that is not to be given there', () => {
    expect(() => call({ redis: 1 })).toThrow('Unknown option `redis` of getOrLoad; expected one of')
  })

  test('refuses an option that it does not know even when its value is undefined', () => {
    expect(() => plan({ tll: undefined })).toThrow(TypeError)
  })

  test('refuses what is no object in place of options', () => {
    for (const options of [null, 5, 'ttl', true, () => 5]) {
      expect(() => plan(options as object)).toThrow(/^Expected the options of createCache to be an object, got /)
    }
  })

  test('refuses what is no duration, and names the option', () => {
    for (const name of durations) {
      for (const bad of [-1, Number.NaN, Infinity, 2 ** 60, '5', '5 m', null, {}, true]) {
        expect(() => plan({ [name]: bad })).toThrow(TypeError)
        expect(() => plan({ [name]: bad })).toThrow(new RegExp(`^Expected \`${name}\` to be .*, got .+`))
      }
    }
  })

  test('takes zero for a duration where it means something, and only there', () => {
    const refused = durations.filter((name) => {
      try {
        plan({ [name]: 0 })
        return false
      } catch {
        return true
      }
    })
    expect(refused).toEqual(durations.filter((name) => !mayBeZero.includes(name)))
  })

  const namespaces = [
    ['', '""'],
    ['a{b', '"a{b"'],
    ['a}b', '"a}b"'],
    ['a\nb', String.raw`"a\nb"`],
    ['a\0b', String.raw`"a\u0000b"`],
    ['\ud800', String.raw`"\ud800"`],
    ['n'.repeat(201), `"${'n'.repeat(60)}"`],
  ] as const

  test('takes a namespace of up to 200 characters without braces or control characters, and no other', () => {
    expect(() => plan({ namespace: 'n'.repeat(200) })).not.toThrow()
    const expected = 'Expected `namespace` to be 1 to 200 characters without braces or control characters, got '
    for (const [namespace, got] of namespaces) {
      expect(() => plan({ namespace })).toThrow(new TypeError(`${expected}${got} (string)`))
    }
    expect(() => plan({ namespace: 7 })).toThrow(new TypeError(`${expected}7 (number)`))
  })

  test('refuses a lease that would have to be renewed faster than timers are', () => {
    expect(() => plan({ leaseTtl: 29 })).toThrow('Expected `leaseTtl` to be')
    expect(() => plan({ leaseTtl: 30 })).not.toThrow()
  })

  test('refuses a timeout longer than a timer can be set to, but not a life of that length', () => {
    for (const name of ['waitTimeout', 'softTimeout', 'hardTimeout', 'leaseTtl', 'failureCooldown', 'commandTimeout']) {
      expect(() => plan({ [name]: '25d' })).toThrow(`Expected \`${name}\` to be`)
    }
    expect(planOf({ ttl: '25d', grace: '365d' })).toMatchObject({ ttl: 25 * 86_400_000, grace: 365 * 86_400_000 })
  })

  test.for([
    ['onStoreFailure', 'ignore', "'load' or 'throw', got \"ignore\" (string)"],
    ['onStoreFailure', true, "'load' or 'throw', got true (boolean)"],
    ['jitter', -0.1, 'a number from 0 to 1, got -0.1 (number)'],
    ['jitter', 1.5, 'a number from 0 to 1, got 1.5 (number)'],
    ['jitter', '10%', 'a number from 0 to 1, got "10%" (string)'],
    ['refreshAhead', 0, "a number between 0 and 1, 'xfetch' or false, got 0 (number)"],
    ['refreshAhead', 1, "a number between 0 and 1, 'xfetch' or false, got 1 (number)"],
    ['refreshAhead', true, "a number between 0 and 1, 'xfetch' or false, got true (boolean)"],
    ['refreshAhead', 'XFetch', 'a number between 0 and 1, \'xfetch\' or false, got "XFetch" (string)'],
    ['refreshAhead', { beta: 1 }, "a number between 0 and 1, 'xfetch' or false, got an object"],
    ['negativeTtl', 0, "a positive number of milliseconds or a duration such as '5m', got 0 (number)"],
    ['negativeTtl', 'never', 'a positive number of milliseconds or a duration such as \'5m\', got "never" (string)'],
    ['maxValueSize', 0, 'a whole number of at least 1, got 0 (number)'],
    ['unstorable', 'load', `'pass' or 'throw', got "load" (string)`],
    ['maxValueSize', Infinity, 'a whole number of at least 1, got Infinity (number)'],
    ['maxConcurrentLoads', 0, 'a whole number of at least 1, got 0 (number)'],
    ['maxConcurrentLoads', 2 ** 53, 'a whole number of at least 1, got 9007199254740992 (number)'],
    ['store', {}, 'a store such as memoryStore() or redisStore(client), got an object'],
    ['store', memoryStore, 'a store such as memoryStore() or redisStore(client), got a function'],
    ['store', 'redis://localhost', 'a store such as memoryStore() or redisStore(client), got "redis://…" (string)'],
    [
      'store',
      new Redis({ lazyConnect: true }),
      'a store such as memoryStore() or redisStore(client), got an object, which looks like a client of Redis: write `store: redisStore(redis)`',
    ],
    ['store', Promise.resolve(), 'a store such as memoryStore() or redisStore(client), got a promise: await it first'],
    ['codec', JSON, 'an object with encode() and decode(), got an object'],
    ['clock', Date, 'an object with now() and after(), got a function'],
    ['clock', performance, 'an object with now() and after(), got an object'],
  ] as const)('refuses the %s %o and says what it expected', ([name, bad, rest]) => {
    expect(() => plan({ [name]: bad })).toThrow(new TypeError(`Expected \`${name}\` to be ${rest}`))
  })
})

test('says when to refresh ahead, and for how long nothing is remembered', () => {
  expect(planOf({ refreshAhead: 'xfetch', negativeTtl: '10s' })).toMatchObject({
    refreshAhead: 'xfetch',
    negativeTtl: { null: 10_000 },
  })
  expect(planOf({ refreshAhead: 0.8, negativeTtl: { undefined: 5 } })).toMatchObject({
    refreshAhead: 0.8,
    negativeTtl: { undefined: 5 },
  })
  expect(planOf({ refreshAhead: false }).refreshAhead).toBeNull()
  expect(() => planOf({ negativeTtl: { nul: 5 } as object })).toThrow(
    'Unknown option `nul` of negativeTtl (did you mean `null`?); expected one of null, undefined',
  )
})

describe('the plan of a call', () => {
  test('is that of the cache, with what the call says over it', () => {
    const base = planOf({ ttl: '5m', grace: '1m' })
    expect(refinePlan(base, { ttl: '1s' })).toEqual({ ...base, ttl: 1_000 })
    expect(base.ttl).toBe(300_000)
  })

  test('refuses what only a cache can be told', () => {
    for (const name of ['store', 'namespace', 'maxConcurrentLoads', 'commandTimeout', 'codec', 'clock', 'zzz']) {
      expect(() => call({ [name]: 1 })).toThrow(`Unknown option \`${name}\` of getOrLoad; expected one of ttl, grace,`)
    }
  })

  test('refuses a signal that is none', () => {
    expect(() => call({ signal: new AbortController() })).toThrow(
      new TypeError('Expected `signal` to be an AbortSignal, got an object'),
    )
    expect(() => call({ signal: AbortSignal.abort() })).not.toThrow()
  })
})

describe('an object that is not all it should be', () => {
  const methods = 'read claim fill fail pass release renew set invalidate ping open close'.split(' ')

  test('is refused as a store when one of its methods is gone, or is none', () => {
    for (const method of methods) {
      for (const other of [undefined, null, 'text', {}]) {
        const store = Object.assign(memoryStore(), { [method]: other })
        expect(() => plan({ store })).toThrow(
          'Expected `store` to be a store such as memoryStore() or redisStore(client)',
        )
      }
    }
  })

  test('is refused as a signal when one of its methods is gone', () => {
    for (const method of ['throwIfAborted', 'addEventListener', 'removeEventListener']) {
      const signal = Object.assign(new AbortController().signal, { [method]: undefined })
      expect(() => call({ signal })).toThrow(new TypeError('Expected `signal` to be an AbortSignal, got an object'))
    }
  })

  test('is refused as a codec or a clock when its members are no methods', () => {
    expect(() => plan({ codec: { encode: 1, decode: 2 } })).toThrow(TypeError)
    expect(() => plan({ clock: { now: 1, after: 2 } })).toThrow(TypeError)
  })
})

test('the wait timeout lets the timeout of a load be heard first, unless it is given itself', () => {
  expect(planOf({}).waitTimeout).toBe(31_000)
  expect(planOf({ hardTimeout: '2s' }).waitTimeout).toBe(3_000)
  expect(planOf({ hardTimeout: '2s', waitTimeout: 100 }).waitTimeout).toBe(100)
  expect(planOf({ hardTimeout: 2_147_483_647 }).waitTimeout).toBe(2_147_483_647)
  const base = planOf({ waitTimeout: 100 })
  expect(refinePlan(base, {}).waitTimeout).toBe(100)
  expect(refinePlan(base, { hardTimeout: '5s' }).waitTimeout).toBe(100)
  expect(refinePlan(base, { hardTimeout: '5s', waitTimeout: 7 }).waitTimeout).toBe(7)
})

describe('a key', () => {
  test.for([
    ['one of 0 characters', ''],
    ['one of 65537 characters', 'k'.repeat(65_537)],
    ['one with a lone surrogate', '\ud800'],
    ['one with a lone surrogate', 'a\udc00b'],
    ['1 (number)', 1],
    ['null', null],
    ['undefined', undefined],
    ['an object', {}],
    ['an array', ['k']],
    ['an object', Buffer.from('k')],
  ] as const)('may not be %s', ([got, key]) => {
    expect(() => checkKey(key)).toThrow(
      new TypeError(`Expected a key to be a well-formed string of 1 to 65536 characters, got ${got}`),
    )
  })

  test('of one namespace never stands for a key of another, whatever either holds', () => {
    // With more of both: property/door.test.ts.
    expect(`${namespacePrefix('a')}b:c`).not.toBe(`${namespacePrefix('a:b')}c`)
    expect(`${namespacePrefix('a%3Ab')}c`).not.toBe(`${namespacePrefix('a:b')}c`)
  })
})
