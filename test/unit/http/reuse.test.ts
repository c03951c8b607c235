import { expect, test } from 'vitest'
import { isServerError, reuse, usableOnError, type Stored } from '../../../src/http/policy/reuse.ts'

const plain: Stored = {
  age: 10_000,
  lifetime: 60_000,
  noCache: false,
  mustRevalidate: false,
  whileRevalidate: 0,
  ifError: null,
}
const fresh = plain
const stale: Stored = { ...plain, age: 70_000 }
const relaxed: Stored = { ...stale, whileRevalidate: 30_000 }
const strict: Stored = { ...stale, mustRevalidate: true }
const noCache: Stored = { ...plain, noCache: true, mustRevalidate: true }

function use(stored: Stored | null, cacheControl?: string, pragma?: string, honor = true): string {
  const fields = { 'cache-control': cacheControl, pragma }
  const decided = reuse({ method: 'GET', fields }, stored, { honor })
  return decided.use === 'refused' ? `refused ${decided.status}` : decided.use
}

test.for([
  ['fresh', fresh, 'fresh'],
  ['of age 0', { ...fresh, age: 0 }, 'fresh'],
  ['in the last moment of its lifetime', { ...fresh, age: 59_999 }, 'fresh'],
  ['at the end of its lifetime', { ...fresh, age: 60_000 }, 'validate'],
  ['never fresh', { ...fresh, age: 0, lifetime: 0 }, 'validate'],
  ['fresh, and must be revalidated when stale', { ...fresh, mustRevalidate: true }, 'fresh'],
  ['fresh, with no-cache', noCache, 'validate'],
  ['stale', stale, 'validate'],
  ['stale, with stale-while-revalidate', relaxed, 'stale-while-revalidate'],
  ['stale for as long as stale-while-revalidate says', { ...relaxed, age: 89_999 }, 'stale-while-revalidate'],
  ['stale for longer', { ...relaxed, age: 90_000 }, 'validate'],
  ['stale, and must not be served stale', { ...strict, whileRevalidate: 30_000 }, 'validate'],
  ['not there', null, 'load'],
] as const)('to a request that asks for nothing special, with a response %s', ([, stored, expected]) => {
  expect(use(stored)).toBe(expected)
})

const responses = {
  fresh,
  newborn: { ...fresh, age: 0 },
  stale,
  'barely stale': { ...stale, age: 60_000 },
  'stale, and may be for long': relaxed,
  'stale, and must not be': strict,
  'never reused': noCache,
  'not there': null,
}

test.for([
  ['no-cache', 'fresh', 'validate'],
  ['No-Cache="x"', 'fresh', 'validate'],
  ['no-store', 'fresh', 'fresh'],
  ['max-age=10', 'fresh', 'fresh'],
  ['max-age=9', 'fresh', 'validate'],
  ['max-age=0', 'fresh', 'validate'],
  ['max-age=0', 'newborn', 'validate'],
  ['max-age=x', 'fresh', 'validate'],
  ['max-age=100', 'stale', 'validate'],
  ['max-age=100', 'stale, and may be for long', 'validate'],
  ['min-fresh=50', 'fresh', 'fresh'],
  ['min-fresh=51', 'fresh', 'validate'],
  ['min-fresh=x', 'fresh', 'validate'],
  ['min-fresh=0', 'stale, and may be for long', 'validate'],
  ['max-stale', 'stale', 'stale'],
  ['max-stale=10', 'stale', 'stale'],
  ['max-stale=9', 'stale', 'validate'],
  ['max-stale=x', 'stale', 'validate'],
  ['max-stale=0', 'barely stale', 'stale'],
  ['max-stale=9', 'stale, and may be for long', 'stale-while-revalidate'],
  ['max-stale', 'stale, and must not be', 'validate'],
  ['max-stale', 'never reused', 'validate'],
  ['max-stale, no-cache', 'fresh', 'validate'],
  ['max-stale', 'not there', 'load'],
  ['max-stale, max-age=100', 'stale', 'stale'],
  ['max-stale, max-age=60', 'stale', 'validate'],
  ['max-stale, min-fresh=1', 'stale', 'validate'],
  ['only-if-cached', 'fresh', 'fresh'],
  ['only-if-cached', 'stale', 'refused 504'],
  ['only-if-cached', 'stale, and may be for long', 'stale-while-revalidate'],
  ['only-if-cached, max-stale', 'stale', 'stale'],
  ['only-if-cached, no-cache', 'fresh', 'refused 504'],
  ['only-if-cached', 'not there', 'refused 504'],
] as const)('to a request that says %s, a response that is %s: %s', ([cacheControl, state, expected]) => {
  const stored = responses[state]
  expect(use(stored, cacheControl)).toBe(expected)
  const ignored = use(stored, undefined)
  expect(use(stored, cacheControl, 'no-cache', false), 'where it is not honored').toBe(ignored)
})

test('Pragma counts where there is no Cache-Control', () => {
  expect([use(fresh, undefined, 'no-cache'), use(fresh, undefined, 'No-Cache')]).toEqual(['validate', 'validate'])
  expect([use(fresh, 'max-age=60', 'no-cache'), use(fresh, '', 'no-cache')]).toEqual(['fresh', 'fresh'])
  expect([use(fresh, undefined, 'x'), use(fresh, undefined, 'max-age=0')]).toEqual(['fresh', 'fresh'])
  expect(use(null, undefined, 'only-if-cached')).toBe('load')
})

test.for([
  ['says nothing, without a default', stale, 0, undefined, false],
  ['says nothing, within the default', stale, 10_001, undefined, true],
  ['says nothing, at the end of the default', stale, 10_000, undefined, false],
  ['allows it, for longer than the default', { ...stale, ifError: 10_001 }, 0, undefined, true],
  ['allows it for a shorter time than the default', { ...stale, ifError: 10_000 }, 60_000, undefined, false],
  ['is asked for with stale-if-error', stale, 0, 'stale-if-error=11', true],
  ['is asked for with a stale-if-error too short', stale, 0, 'stale-if-error=10', false],
  ['is asked for with an invalid stale-if-error', stale, 0, 'stale-if-error=x', false],
  ['is asked for with a shorter one than it allows', { ...stale, ifError: 60_000 }, 0, 'stale-if-error=1', true],
  ['must not be served stale', { ...strict, ifError: 60_000 }, 60_000, 'stale-if-error=60', false],
  ['must not be served stale, but is fresh', { ...strict, age: 0 }, 0, undefined, true],
  ['must not be served without validation', noCache, 60_000, 'stale-if-error=60', false],
  ['is fresh', fresh, 0, undefined, true],
] as const)(
  'instead of an error, a response is served or not, that %s',
  ([, stored, ifError, cacheControl, expected]) => {
    const request = { method: 'GET', fields: { 'cache-control': cacheControl } }
    expect(usableOnError(request, stored, { honor: true, ifError })).toBe(expected)
    const without = usableOnError({ method: 'GET', fields: {} }, stored, { honor: true, ifError })
    expect(usableOnError(request, stored, { honor: false, ifError }), 'where it is not honored').toBe(without)
  },
)

test('an error is what a server has, not what a client has done', () => {
  expect([200, 404, 499, 500, 501, 502, 503, 504, 505].filter(isServerError)).toEqual([500, 502, 503, 504])
})
