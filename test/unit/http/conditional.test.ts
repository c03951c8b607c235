import { expect, test } from 'vitest'
import { notModifiedFields, preconditionOf, entityTagOf, entityTagsOf } from '../../../src/http/policy/conditional.ts'
import type { Fields } from '../../../src/http/policy/fields.ts'
import { dateText } from '../../../src/http/policy/http-date.ts'
import { contentRange, rangeOf } from '../../../src/http/policy/range.ts'

const now = Date.UTC(2026, 5, 1)
const at = (seconds: number): string => dateText(now + seconds * 1_000)
const stored: Fields = { etag: '"abc"', 'last-modified': at(-3_000), date: at(0) }

function outcome(fields: Fields, response: Fields = stored, status = 200, method = 'GET'): string {
  return preconditionOf({ method, fields }, { status, fields: response }, now)
}

test.for([
  ['the tag', '"abc"', '"abc"', 'not-modified'],
  ['another tag', '"abd"', '"abc"', 'send'],
  ['a tag in another case', '"ABC"', '"abc"', 'send'],
  ['the tag, weak', 'W/"abc"', '"abc"', 'not-modified'],
  ['the tag, where it is weak', '"abc"', 'W/"abc"', 'not-modified'],
  ['the weak tag', 'W/"abc"', 'W/"abc"', 'not-modified'],
  ['a weak tag with a small letter', 'w/"abc"', 'w/"abc"', 'not-modified'],
  ['the first of many', '"abc", "1", "2"', '"abc"', 'not-modified'],
  ['the second of many', '"1","abc" , "2"', '"abc"', 'not-modified'],
  ['the last of many', '"1", W/"2", "abc"', '"abc"', 'not-modified'],
  ['none of many', '"1", "2", ,', '"abc"', 'send'],
  ['the tag in a line of its own', ['"1"', '"abc"'], '"abc"', 'not-modified'],
  ['a tag with a comma', '"1", "a,bc"', '"a,bc"', 'not-modified'],
  ['a part of a tag with a comma', '"a,bc"', '"bc"', 'send'],
  ['another part of a tag with a comma', '"x, "abc"', '"abc"', 'send'],
  ['a tag beyond ASCII', '"abcü"', '"abcü"', 'not-modified'],
  ['the tag without quotes', 'abc', '"abc"', 'not-modified'],
  ['the tag with quotes, where it has none', '"abc"', 'abc', 'not-modified'],
  ['the tag, where neither has quotes', 'x, abc', 'abc', 'not-modified'],
  ['an odd tag, where it is the same', 'W\\"abc"', 'W\\"abc"', 'not-modified'],
  ['the empty tag', '""', '""', 'not-modified'],
  ['nothing', '', '""', 'send'],
  ['a quote', '"', '"abc"', 'send'],
  ['any', '*', '"abc"', 'not-modified'],
  ['any, where there is none', '*', undefined, 'not-modified'],
  ['any, quoted', '"*"', '"abc"', 'send'],
  ['a tag, where there is none', '"abc"', undefined, 'send'],
] as const)('If-None-Match with %s', ([, field, etag, expected]) => {
  expect(outcome({ 'if-none-match': field }, { etag })).toBe(expected)
})

test.for([
  ['of Last-Modified', at(-3_000), stored, 'not-modified'],
  ['after Last-Modified', at(-2_000), stored, 'not-modified'],
  ['a second before Last-Modified', at(-3_001), stored, 'send'],
  ['after Date, where there is no Last-Modified', at(1), { date: at(0) }, 'not-modified'],
  ['before Date, where there is no Last-Modified', at(-3_000), { date: at(0) }, 'send'],
  ['where there is neither', at(0), {}, 'send'],
  ['after a Last-Modified that is no date', at(0), { 'last-modified': 'x', date: at(-3) }, 'send'],
  ['in another format', 'Monday, 01-Jun-26 00:00:00 GMT', stored, 'not-modified'],
  ['that is none', 'yesterday', stored, 'send'],
  ['and another', [at(0), at(0)], stored, 'send'],
] as const)('If-Modified-Since with a date %s', ([, since, response, expected]) => {
  expect(outcome({ 'if-modified-since': since }, response)).toBe(expected)
})

const tagAndOld = { 'if-none-match': '"abc"', 'if-modified-since': at(-9_000) }

test.for([
  ['without conditions', {}, stored, 200, 'GET', 'send'],
  ['with both, the tag another', { 'if-none-match': '"x"', 'if-modified-since': at(0) }, stored, 200, 'GET', 'send'],
  ['with both, the date another', tagAndOld, stored, 200, 'GET', 'not-modified'],
  ['by HEAD', { 'if-none-match': '"abc"' }, stored, 200, 'HEAD', 'not-modified'],
  ['by POST', { 'if-none-match': '"abc"' }, stored, 200, 'POST', 'forward'],
  ['of what is no success', { 'if-none-match': '"abc"' }, stored, 404, 'GET', 'send'],
  ['of what is a redirect', { 'if-none-match': '*' }, stored, 301, 'GET', 'send'],
  ['with If-Match', { 'if-match': '"abc"', 'if-none-match': '"abc"' }, stored, 200, 'GET', 'forward'],
  ['with If-Unmodified-Since', { 'if-unmodified-since': at(0) }, stored, 200, 'GET', 'forward'],
  ['with an If-Unmodified-Since that is no date', { 'if-unmodified-since': '' }, stored, 200, 'HEAD', 'forward'],
] as const)('a request %s', ([, fields, response, status, method, expected]) => {
  expect(outcome(fields, response, status, method)).toBe(expected)
})

test('a 304 has what a cache goes by, and not what is said of a content', () => {
  const gone = (
    'Content-Type Content-Length Content-Encoding Content-Language Content-Range Content-MD5 ' + 'Content-Digest'
  )
    .split(' ')
    .map((name) => [name, 'x'] as const)
  const kept = (
    'Date ETag Vary Cache-Control Expires Content-Location Content-Security-Policy ' + 'Access-Control-Allow-Origin Age'
  )
    .split(' ')
    .map((name) => [name, 'x'] as const)
  const changed = ['last-MODIFIED', 'x'] as const
  expect(notModifiedFields([...gone, changed, ...kept])).toEqual(kept)
  expect(notModifiedFields([changed, ['Date', 'x']])).toEqual([changed, ['Date', 'x']])
})

test.for([
  ['"a"', 'a', 'strong'],
  ['W/"a"', 'a', 'weak'],
  ['w/"a"', 'a', 'weak'],
  ['""', '', 'strong'],
  ['a', 'a', 'odd'],
  ['"', '"', 'odd'],
  ['"a', '"a', 'odd'],
  ['"a"b"', '"a"b"', 'odd'],
  ['W/a', 'W/a', 'odd'],
  ['"a", "b"', '"a", "b"', 'odd'],
] as const)('the entity tag %s', ([text, opaque, strength]) => {
  expect(entityTagOf(text)).toEqual({ opaque, strength })
})

test('a list of tags ends where its field does', () => {
  expect(entityTagsOf('"a", W/"b,c" ,, d, "e')?.map(({ opaque }) => opaque)).toEqual(['a', 'b,c', 'd', '"e'])
  expect([entityTagsOf(null), entityTagsOf(''), entityTagOf(null), entityTagOf('')]).toEqual([null, [], null, null])
})

const range = (start: number, end: number): object => ({ start, end })

test.for([
  ['bytes=0-1', 11, range(0, 1)],
  ['bytes=0-0', 11, range(0, 0)],
  ['bytes=1-', 11, range(1, 10)],
  ['bytes=-1', 11, range(10, 10)],
  ['bytes=-11', 11, range(0, 10)],
  ['bytes=-99', 11, range(0, 10)],
  ['bytes=5-99', 11, range(5, 10)],
  ['bytes=10-10', 11, range(10, 10)],
  ['Bytes=0-1', 11, range(0, 1)],
  ['bytes= 0-1 ', 11, range(0, 1)],
  ['bytes=,0-1,', 11, range(0, 1)],
  ['bytes=0-999999999999999', 11, range(0, 10)],
  ['bytes=11-', 11, 'unsatisfiable'],
  ['bytes=11-12', 11, 'unsatisfiable'],
  ['bytes=-0', 11, 'unsatisfiable'],
  ['bytes=0-', 0, 'unsatisfiable'],
  ['bytes=-0', 0, 'unsatisfiable'],
  ['bytes=-5', 0, null],
  ['bytes=0-1,3-4', 11, null],
  ['bytes=0-1,0-1', 11, null],
  ['bytes=2-1', 11, null],
  ['bytes=12-11', 11, null],
  ['bytes=-', 11, null],
  ['bytes=', 11, null],
  ['bytes', 11, null],
  ['bytes=a-b', 11, null],
  ['bytes=0-1x', 11, null],
  ['bytes=0 -1', 11, null],
  ['bytes=1.5-2', 11, null],
  ['bytes=--1', 11, null],
  ['bytes=0-9999999999999999', 11, null],
  ['lines=0-1', 11, null],
  ['', 11, null],
] as const)('%s of %d bytes', ([field, length, expected]) => {
  expect(rangeOf({ method: 'GET', fields: { range: field } }, { status: 200, fields: stored }, length, now)).toEqual(
    expected,
  )
})

test.for([
  ['its strong tag', '"abc"', stored, true],
  ['another tag', '"abd"', stored, false],
  ['its tag, weak', 'W/"abc"', stored, false],
  ['its tag, where both are weak', 'W/"abc"', { etag: 'W/"abc"' }, false],
  ['a tag, where it has none', '"abc"', {}, false],
  ['its tag without quotes', 'abc', stored, false],
  ['its Last-Modified', at(-3_000), stored, true],
  ['its Last-Modified in another format', 'Sunday, 31-May-26 23:10:00 GMT', stored, true],
  ['a later date', at(-2_999), stored, false],
  ['an earlier date', at(-3_001), stored, false],
  ['a Last-Modified of a second before', at(-1), { 'last-modified': at(-1), date: at(0) }, true],
  ['a Last-Modified that may be that of two', at(0), { 'last-modified': at(0), date: at(0) }, false],
  ['its Last-Modified, where it has no Date', at(-3), { 'last-modified': at(-3) }, false],
  ['a date, where it has no Last-Modified', at(0), { date: at(0) }, false],
  ['something else', 'x', stored, false],
  ['nothing', '', stored, false],
] as const)('a range is sent if If-Range has %s', ([, ifRange, fields, expected]) => {
  const request = { method: 'GET', fields: { range: 'bytes=0-1', 'if-range': ifRange } }
  expect(rangeOf(request, { status: 200, fields }, 11, now)).toEqual(expected ? range(0, 1) : null)
})

test('an If-Range that does not hold sends the whole, also of what would not be satisfiable', () => {
  const fields = { range: 'bytes=99-', 'if-range': '"x"' }
  expect(rangeOf({ method: 'GET', fields }, { status: 200, fields: stored }, 11, now)).toBeNull()
})

test('only of a GET and of a 200 a range is sent', () => {
  const fields = { range: 'bytes=0-1' }
  expect(rangeOf({ method: 'HEAD', fields }, { status: 200, fields: {} }, 11, now)).toBeNull()
  expect(rangeOf({ method: 'GET', fields }, { status: 404, fields: {} }, 11, now)).toBeNull()
  expect(rangeOf({ method: 'GET', fields: {} }, { status: 200, fields: {} }, 11, now)).toBeNull()
})

test('what was sent of how much is told', () => {
  expect([contentRange({ start: 0, end: 1 }, 11), contentRange('unsatisfiable', 11)]).toEqual([
    'bytes 0-1/11',
    'bytes */11',
  ])
})
