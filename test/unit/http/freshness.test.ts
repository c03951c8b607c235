import { expect, test } from 'vitest'
import { ageAt, ageText, initialAgeOf, oldest } from '../../../src/http/policy/age.ts'
import type { Fields } from '../../../src/http/policy/fields.ts'
import { dateText } from '../../../src/http/policy/http-date.ts'
import { lifetimeOf, statusRule, type LifetimeRules } from '../../../src/http/policy/lifetime.ts'
import { responseOf } from '../../../src/http/policy/message.ts'
import { staleRules } from '../../../src/http/policy/stale.ts'

const now = Date.UTC(2026, 5, 1)
const standard: LifetimeRules = { statuses: statusRule, defaultTtl: null }
const cacheControl = (value: string): Fields => ({ 'cache-control': value })
const at = (seconds: number): string => dateText(now + seconds * 1_000)
const day = 86_400

test.for([
  ['max-age', 200, cacheControl('max-age=60'), 60_000, 'max-age'],
  ['max-age of 0', 200, { ...cacheControl('max-age=0'), expires: at(60) }, 0, 'max-age'],
  ['an invalid max-age', 200, { ...cacheControl('max-age=x'), expires: at(60) }, 0, 'max-age'],
  ['two values of max-age', 200, { 'cache-control': ['max-age=60', 'max-age=61'] }, 0, 'max-age'],
  ['s-maxage and max-age', 200, cacheControl('max-age=60, s-maxage=5'), 5_000, 's-maxage'],
  [
    'a longer s-maxage, and an Expires of the past',
    200,
    { ...cacheControl('s-maxage=60, max-age=0'), expires: at(-5) },
    60_000,
    's-maxage',
  ],
  ['an invalid s-maxage and max-age', 200, cacheControl('s-maxage=x, max-age=60'), 0, 's-maxage'],
  ['max-age and an Expires of the past', 200, { ...cacheControl('max-age=60'), expires: at(-5) }, 60_000, 'max-age'],
  ['the most seconds', 200, cacheControl('max-age=99999999999'), oldest, 'max-age'],
  ['Expires', 200, { expires: at(60), date: at(0) }, 60_000, 'expires'],
  ['Expires and a Date that is slow', 200, { expires: at(10), date: at(-10) }, 20_000, 'expires'],
  ['Expires and a Date that is fast', 200, { expires: at(300), date: at(400) }, 0, 'expires'],
  ['Expires without Date', 200, { expires: at(60) }, 60_000, 'expires'],
  ['Expires and a Date that is none', 200, { expires: at(60), date: 'foo' }, 60_000, 'expires'],
  ['Expires of now', 200, { expires: at(0), date: at(0) }, 0, 'expires'],
  ['an Expires that is no date', 200, { expires: '0', 'last-modified': at(-day) }, 0, 'expires'],
  ['two Expires', 200, { expires: [at(60), at(60)] }, 0, 'expires'],
  ['an Expires as far as there are dates', 200, { expires: 'Fri, 31 Dec 9999 23:59:59 GMT' }, oldest, 'expires'],
  ['an Expires of a century ago in two digits', 200, { expires: 'Thursday, 18-Aug-77 02:01:18 GMT' }, 0, 'expires'],
  ['Expires beside Pragma', 200, { expires: at(60), pragma: 'no-cache' }, 60_000, 'expires'],
  ['nothing', 200, {}, 0, 'none'],
  ['nothing but an ETag', 200, { etag: '"a"' }, 0, 'none'],
  ['Last-Modified', 200, { 'last-modified': at(-600) }, 60_000, 'heuristic'],
  ['immutable', 200, { ...cacheControl('immutable'), 'last-modified': at(-600) }, 60_000, 'heuristic'],
  ['Last-Modified and an old Date', 200, { 'last-modified': at(-600), date: at(-500) }, 10_000, 'heuristic'],
  ['Last-Modified of the future', 200, { 'last-modified': at(60) }, 0, 'heuristic'],
  ['Last-Modified of long ago', 200, { 'last-modified': at(-1_000 * day) }, day * 1_000, 'heuristic'],
  ['a Last-Modified that is no date', 200, { 'last-modified': 'x' }, 0, 'none'],
  ['Last-Modified, with Pragma', 200, { 'last-modified': at(-600), pragma: 'no-cache' }, 60_000, 'heuristic'],
  ['Last-Modified, and a status that has to say more', 201, { 'last-modified': at(-600) }, 0, 'none'],
  [
    'Last-Modified and public, whatever its status',
    599,
    { ...cacheControl('public'), 'last-modified': at(-600) },
    60_000,
    'heuristic',
  ],
  [
    'Last-Modified and a public that is odd',
    599,
    { ...cacheControl('public=1'), 'last-modified': at(-600) },
    0,
    'none',
  ],
  ['Last-Modified, not found', 404, { 'last-modified': at(-600) }, 60_000, 'heuristic'],
  ['max-age, whatever its status', 503, cacheControl('max-age=60'), 60_000, 'max-age'],
] as const)('a response with %s', ([, status, fields, ms, from]) => {
  expect(lifetimeOf(responseOf(status, fields), standard, now)).toEqual({ ms, from })
})

test.for([
  ['that says nothing has it', 200, {}, 5_000, 'default'],
  ['has it rather than the guess from Last-Modified', 200, { 'last-modified': at(-600) }, 5_000, 'default'],
  ['that says something has that', 200, cacheControl('max-age=60'), 60_000, 'max-age'],
  ['that says 0 has 0', 200, cacheControl('max-age=0'), 0, 'max-age'],
  ['that says something invalid has 0', 200, { expires: '0' }, 0, 'expires'],
  ['of a status that is to say more has none', 404, {}, 0, 'none'],
  ['of a status that is to say more has none from Last-Modified', 404, { 'last-modified': at(-600) }, 0, 'none'],
  ['of a status that is to say more has it, if public', 404, cacheControl('public'), 5_000, 'default'],
  ['of a status that is not stored has none', 500, cacheControl('public'), 0, 'none'],
  ['of a status that may be stored without a word has it', 201, {}, 5_000, 'default'],
] as const)('with a default ttl, a response %s', ([, status, fields, ms, from]) => {
  const statuses: LifetimeRules['statuses'] = (code) => (code === 500 ? 'never' : code === 404 ? 'explicit' : 'always')
  expect(lifetimeOf(responseOf(status, fields), { statuses, defaultTtl: 5_000 }, now)).toEqual({ ms, from })
})

test('a status that may be stored without a word has no guess from Last-Modified unless the standard allows it', () => {
  const rules: LifetimeRules = { statuses: () => 'always', defaultTtl: null }
  expect(lifetimeOf(responseOf(201, { 'last-modified': at(-600) }), rules, now)).toEqual({ ms: 0, from: 'none' })
})

test('by the standard, these statuses may be stored without a word', () => {
  const statuses = Array.from({ length: 500 }, (_, index) => index + 100)
  expect(statuses.filter((status) => statusRule(status) === 'always')).toEqual([
    200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501,
  ])
  expect(new Set(statuses.map(statusRule))).toEqual(new Set(['always', 'explicit']))
})

test.for([
  ['says nothing', {}, 0],
  ['has an Age', { age: '30' }, 30_000],
  ['has the Age 0', { age: '0' }, 0],
  ['has an Age with zeros before it', { age: '0030' }, 30_000],
  ['has a Date of now', { date: at(0) }, 0],
  ['has a slow Date', { date: at(-20) }, 20_000],
  ['has a fast Date', { date: at(20) }, 0],
  ['has a Date that is none', { date: 'foo' }, 0],
  ['has a slow Date and a greater Age', { date: at(-20), age: '30' }, 30_000],
  ['has a slower Date and a smaller Age', { date: at(-20), age: '10' }, 20_000],
  ['has an Age greater than can be told', { age: '99999999999' }, oldest],
  ['has an Age in letters', { age: 'abc' }, 0],
  ['has a negative Age', { age: '-7200' }, 0],
  ['has an Age with a fraction', { age: '7200.0' }, 0],
  ['has an empty Age', { age: '' }, 0],
  ['has no valid Age, and a slow Date', { date: at(-20), age: 'abc' }, 20_000],
  ['has an Age with parameters', { age: '7200;foo=111' }, 0],
  ['has a list of Ages, the first old', { age: '7200,0' }, 7_200_000],
  ['has a list of Ages, the first young', { age: '0,7200' }, 0],
  ['has a list of Ages, of which the second is none', { age: '30, old' }, 30_000],
  ['has a list of Ages, of which the first is none', { age: 'old, 30' }, 0],
  ['has a list that begins with a comma', { age: ',30' }, 30_000],
  ['has two Ages', { age: ['30', '7200'] }, 30_000],
  ['has the same Age twice', { age: '3600, 3600' }, 3_600_000],
] as const)('the age of a response that %s', ([, fields, expected]) => {
  expect(initialAgeOf(responseOf(200, fields), { requestedAt: now, receivedAt: now })).toBe(expected)
})

test('the time a response took is added to the Age it comes with, and not to what its Date tells', () => {
  const exchange = { requestedAt: now - 4_000, receivedAt: now }
  const ages = [{ age: '30' }, {}, { date: at(-20) }].map((fields) => initialAgeOf(responseOf(200, fields), exchange))
  expect(ages).toEqual([34_000, 4_000, 20_000])
})

test('a clock that was set back makes nothing younger', () => {
  expect(initialAgeOf(responseOf(200, { age: '30' }), { requestedAt: now + 5_000, receivedAt: now })).toBe(30_000)
  expect(ageAt(now - 5_000, 30_000, now)).toBe(30_000)
})

test('an age grows while a response is stored, and is told in whole seconds, none too many', () => {
  expect(ageAt(now + 5_000, 30_000, now)).toBe(35_000)
  expect(ageAt(now + 5_000, oldest, now)).toBe(oldest)
  expect([0, 999, 1_000, 61_999, oldest, oldest * 2].map(ageText)).toEqual([
    '0',
    '0',
    '1',
    '61',
    '2147483648',
    '2147483648',
  ])
})

test.for([
  ['nothing', '', false, false, 0, null],
  ['stale-while-revalidate', 'stale-while-revalidate=30', false, false, 30_000, null],
  ['stale-if-error', 'stale-if-error=60', false, false, 0, 60_000],
  ['stale-if-error of 0', 'stale-if-error=0', false, false, 0, 0],
  ['what is invalid', 'stale-while-revalidate=x, stale-if-error', false, false, 0, 0],
  ['no-cache', 'no-cache, stale-while-revalidate=30, stale-if-error=60', true, true, 0, 0],
  ['no-cache of a field', 'no-cache="set-cookie", stale-if-error=60', true, true, 0, 0],
  ['must-revalidate', 'must-revalidate, stale-while-revalidate=30, stale-if-error=60', false, true, 0, 0],
  ['proxy-revalidate', 'Proxy-Revalidate, stale-while-revalidate=30, stale-if-error=60', false, true, 0, 0],
  ['s-maxage', 's-maxage=5, stale-while-revalidate=30, stale-if-error=60', false, true, 0, 0],
  ['an invalid s-maxage', 's-maxage=x, stale-if-error=60', false, true, 0, 0],
  ['an odd must-revalidate', 'must-revalidate x, stale-if-error=60', false, true, 0, 0],
] as const)(
  'what may be done with a stale response that says %s',
  ([, field, noCache, mustRevalidate, whileRevalidate, ifError]) => {
    const rules = { noCache, mustRevalidate, whileRevalidate, ifError }
    expect(staleRules(responseOf(200, cacheControl(field)))).toEqual(rules)
  },
)
