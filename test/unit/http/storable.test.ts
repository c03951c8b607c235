import { expect, test } from 'vitest'
import type { Fields } from '../../../src/http/policy/fields.ts'
import { dateText } from '../../../src/http/policy/http-date.ts'
import { statusRule } from '../../../src/http/policy/lifetime.ts'
import { responseOf } from '../../../src/http/policy/message.ts'
import { storable, type StoreRules } from '../../../src/http/policy/storable.ts'

const now = Date.UTC(2026, 5, 1)
const standard: StoreRules = {
  statuses: statusRule,
  defaultTtl: null,
  authorization: 'explicit',
  cookie: 'always',
  setCookie: 'always',
  honor: true,
}

interface Exchange {
  readonly method?: string
  readonly request?: Fields
  readonly status?: number
  readonly response?: Fields
  readonly rules?: Partial<StoreRules>
}

function outcome({ method = 'GET', request = {}, status = 200, response = {}, rules = {} }: Exchange): string {
  const answer = storable({ method, fields: request }, responseOf(status, response), { ...standard, ...rules }, now)
  return answer.store ? 'stored' : answer.why
}

const fresh = (more = ''): Fields => ({ 'cache-control': `max-age=60${more}` })
const etag = '"a"'

const noStore: Fields = { 'cache-control': 'No-Store' }
const never: Partial<StoreRules> = { statuses: () => 'never' }
const always: Partial<StoreRules> = { statuses: () => 'always' }

test.for<[string, Exchange, string]>([
  ['to GET', { response: fresh() }, 'stored'],
  ['to HEAD', { method: 'HEAD', response: fresh() }, 'method'],
  ['to POST', { method: 'POST', response: fresh(', public') }, 'method'],
  ['to get, which is another method', { method: 'get', response: fresh() }, 'method'],
  ['to __proto__, which is no method', { method: '__proto__', response: fresh() }, 'method'],
  ['to a request that says no-store', { request: noStore, response: fresh() }, 'request-no-store'],
  ['to one that says so, not honored', { request: noStore, response: fresh(), rules: { honor: false } }, 'stored'],
  ['to a request that says no-cache', { request: { 'cache-control': 'no-cache' }, response: fresh() }, 'stored'],
  ['that is informational', { status: 103, response: fresh() }, 'status'],
  ['with a status beyond those there are', { status: 600, response: fresh() }, 'status'],
  ['that is partial', { status: 206, response: fresh(', public') }, 'partial'],
  ['that is partial, and its rules say always', { status: 206, response: fresh(), rules: always }, 'partial'],
  ['that is not modified', { status: 304, response: fresh(', public') }, 'status'],
  ['to a condition that fails', { status: 412, response: fresh(', public') }, 'status'],
  ['to a range that is not there', { status: 416, response: fresh(', public') }, 'status'],
  ['of a status that is never stored', { status: 503, response: fresh(', public'), rules: never }, 'status'],
  ['of a status that nobody knows', { status: 599, response: fresh() }, 'stored'],
  ['of such a status, which must be understood', { status: 599, response: fresh(', must-understand') }, 'status'],
  ['of a known status, which must be understood', { status: 404, response: fresh(', must-understand') }, 'stored'],
  ['with no-store', { response: fresh(', nO-StOrE') }, 'no-store'],
  ['with no-store in a line of its own', { response: { 'cache-control': ['max-age=60', 'no-store'] } }, 'no-store'],
  ['with an odd no-store', { response: fresh(', no-store="x"') }, 'no-store'],
  ['with no-store for who does not understand it', { response: fresh(', no-store, must-understand') }, 'stored'],
  ['with that, and an odd word', { response: fresh(', no-store, must-understand=0') }, 'no-store'],
  ['with no-store, and not understood', { status: 599, response: fresh(', no-store, must-understand') }, 'status'],
  ['with private', { response: fresh(', private') }, 'private'],
  ['with private and public', { response: fresh(', private, public') }, 'private'],
  ['with private fields', { response: fresh(', private="set-cookie"') }, 'private'],
  ['that varies by a field', { response: { ...fresh(), vary: 'Accept' } }, 'stored'],
  ['that varies by anything', { response: { ...fresh(), vary: 'Accept, *' } }, 'vary'],
])('by the standard, a response is stored or not %s', ([, exchange, expected]) => {
  expect(outcome(exchange)).toBe(expected)
})

const personal = { authorization: '', cookie: 'a=b' }

test.for([
  ['authorization', 'never', ', public, s-maxage=60, must-revalidate', 'authorization'],
  ['authorization', 'explicit', '', 'authorization'],
  ['authorization', 'explicit', ', proxy-revalidate', 'authorization'],
  ['authorization', 'explicit', ', public', 'stored'],
  ['authorization', 'explicit', ', public=1', 'authorization'],
  ['authorization', 'explicit', ', s-maxage=60', 'stored'],
  ['authorization', 'explicit', ', s-maxage=x', 'authorization'],
  ['authorization', 'explicit', ', must-revalidate', 'stored'],
  ['authorization', 'explicit', ', must-revalidate, private', 'private'],
  ['authorization', 'always', '', 'stored'],
  ['cookie', 'never', ', public', 'cookie'],
  ['cookie', 'explicit', '', 'cookie'],
  ['cookie', 'explicit', ', must-revalidate', 'cookie'],
  ['cookie', 'explicit', ', public', 'stored'],
  ['cookie', 'explicit', ', s-maxage=60', 'stored'],
  ['cookie', 'always', '', 'stored'],
] as const)(
  'what is asked for with %s, which is stored %s, and answered with max-age=60%s is: %s',
  ([name, rule, more, expected]) => {
    const rules = { authorization: 'always', cookie: 'always', [name]: rule } as const
    expect(outcome({ request: { [name]: personal[name] }, response: fresh(more), rules })).toBe(expected)
    expect(outcome({ response: fresh(), rules }), 'without it').toBe('stored')
  },
)

test.for([
  ['never', ', public', 'set-cookie'],
  ['explicit', '', 'set-cookie'],
  ['explicit', ', must-revalidate', 'set-cookie'],
  ['explicit', ', public', 'stored'],
  ['always', '', 'stored'],
] as const)('what sets a cookie, which is stored %s, with max-age=60%s is: %s', ([setCookie, more, expected]) => {
  expect(outcome({ response: { ...fresh(more), 'set-cookie': ['a=b', 'c=d'] }, rules: { setCookie } })).toBe(expected)
  expect(outcome({ response: fresh(), rules: { setCookie } }), 'without it').toBe('stored')
})

test.for([
  ['nothing', {}, 'no-freshness'],
  ['nothing but public', { 'cache-control': 'public' }, 'no-freshness'],
  ['an ETag', { etag }, 'no-freshness'],
  ['Last-Modified', { 'last-modified': dateText(now - 600_000) }, 'stored'],
  ['a Last-Modified that is no date', { 'last-modified': 'x' }, 'no-freshness'],
  ['Expires', { expires: dateText(now + 60_000) }, 'stored'],
  ['an Expires of the past', { expires: dateText(now - 60_000) }, 'no-freshness'],
  ['max-age=0', { 'cache-control': 'max-age=0' }, 'no-freshness'],
  ['an invalid max-age', { 'cache-control': 'max-age=x' }, 'no-freshness'],
  ['max-age=0 and an ETag', { 'cache-control': 'max-age=0', etag }, 'stored'],
  ['max-age=0 and an empty ETag', { 'cache-control': 'max-age=0', etag: '' }, 'no-freshness'],
  ['max-age=0 and stale-while-revalidate', { 'cache-control': 'max-age=0, stale-while-revalidate=60' }, 'stored'],
  ['max-age=0 and stale-if-error', { 'cache-control': 'max-age=0, stale-if-error=60' }, 'stored'],
  [
    'max-age=0, and must-revalidate',
    { 'cache-control': 'max-age=0, stale-if-error=60, must-revalidate' },
    'no-freshness',
  ],
  ['stale-while-revalidate', { 'cache-control': 'stale-while-revalidate=60' }, 'stored'],
  ['no-cache', { 'cache-control': 'max-age=60, no-cache' }, 'no-validator'],
  ['no-cache of a field', { 'cache-control': 'max-age=60, no-cache="a"' }, 'no-validator'],
  ['no-cache and an ETag', { 'cache-control': 'no-cache', etag }, 'stored'],
  ['no-cache and Last-Modified', { 'cache-control': 'no-cache', 'last-modified': 'x' }, 'stored'],
] as const)('a response is stored or not with %s', ([, response, expected]) => {
  expect(outcome({ response })).toBe(expected)
})

test.for([
  ['nothing', {}, 'no-freshness'],
  ['Last-Modified', { 'last-modified': dateText(now - 600_000) }, 'no-freshness'],
  ['Last-Modified and public', { 'last-modified': dateText(now - 600_000), 'cache-control': 'public' }, 'stored'],
  ['no-cache and an ETag', { 'cache-control': 'no-cache', etag }, 'no-freshness'],
  ['no-cache, public and an ETag', { 'cache-control': 'no-cache, public', etag }, 'stored'],
  ['stale-while-revalidate', { 'cache-control': 'stale-while-revalidate=60' }, 'no-freshness'],
  ['max-age', fresh(), 'stored'],
] as const)('a response of a status that has to say more is stored or not with %s', ([, response, expected]) => {
  expect(outcome({ status: 500, response })).toBe(expected)
})

test('with a default ttl, what says nothing is stored', () => {
  expect(outcome({ rules: { defaultTtl: 1_000 } })).toBe('stored')
  expect(outcome({ rules: { defaultTtl: 1_000 }, status: 500 })).toBe('no-freshness')
  expect(outcome({ rules: { defaultTtl: 1_000 }, response: { expires: '0' } })).toBe('no-freshness')
})

test('a targeted field decides what is stored', () => {
  const both = { 'cdn-cache-control': 'max-age=60', 'cache-control': 'no-store' }
  expect(outcome({ response: both })).toBe('stored')
  expect(outcome({ response: { 'cdn-cache-control': 'private', 'cache-control': 'max-age=60' } })).toBe('private')
  expect(outcome({ response: { ...both, 'cdn-cache-control': 'max-age="60"' } })).toBe('no-freshness')
  expect(outcome({ response: { ...both, 'cdn-cache-control': 'max-age=60, &' } })).toBe('no-store')
})
