import { expect, test } from 'vitest'
import { secondsOf } from '../../../src/http/policy/directives.ts'
import { lifetimeOf, statusRule } from '../../../src/http/policy/lifetime.ts'
import { responseOf } from '../../../src/http/policy/message.ts'
import { dictionaryOf } from '../../../src/http/policy/structured-dictionary.ts'
import { cacheControlOf } from '../../../src/http/policy/targeted.ts'

function directives(field: string, text: string): [string, Record<string, unknown>] {
  const control = cacheControlOf({ 'cdn-cache-control': text, 'cache-control': 'max-age=1' })
  expect(field).toBe(control.field)
  return [control.field, Object.fromEntries(control.directives)]
}

test.for([
  ['max-age=3600', { 'max-age': ['3600'] }],
  ['no-store', { 'no-store': [null] }],
  ['no-store=?1', { 'no-store': [null] }],
  ['no-store=?0, public', { public: [null] }],
  ['max-age=60;a;b="x, y";c=?0, must-revalidate;x=1.5', { 'max-age': ['60'], 'must-revalidate': [null] }],
  ['no-cache="set-cookie"', { 'no-cache': ['set-cookie'] }],
  ['max-age=1, max-age=2', { 'max-age': ['2'] }],
  [
    'a, max-age=60\t,\tb=tok/en:1, c=:aGk=:, d=(1 "2" t;x);y, e=@1659578233, f=%"%c3%bc"',
    {
      a: [null],
      'max-age': ['60'],
      b: ['tok/en:1'],
      c: [' :aGk=:'],
      d: [' (1 "2" t;x)'],
      e: [' @1659578233'],
      f: [' %"%c3%bc"'],
    },
  ],
] as const)('the targeted field %s tells all', ([text, expected]) => {
  expect(directives('cdn-cache-control', text)[1]).toEqual(expected)
})

test.for(
  (
    'max-age="3600" max-age=3600.0 max-age=3600.5 max-age=-1 max-age max-age=abc max-age=(60) ' + 'max-age=:NjA=:'
  ).split(' '),
)('a targeted max-age is a whole number: %s is invalid', (text) => {
  const { directives, field } = cacheControlOf({ 'cdn-cache-control': text, 'cache-control': 'max-age=60' })
  expect([field, secondsOf(directives, 'max-age')]).toEqual(['cdn-cache-control', 'invalid'])
})

test.for([
  ['empty', ''],
  ['blank', '  '],
  ['with a name in capitals', 'Max-Age=60'],
  ['with an unknown type', 'max-age=10000, &&&&&'],
  ['with a comma at its end', 'max-age=60,'],
  ['with an empty member', 'max-age=60,,public'],
  ['with a space before =', 'max-age =60'],
  ['with a space behind =', 'max-age= 60'],
  ['with nothing behind =', 'max-age='],
  ['with a number too long', 'max-age=1234567890123456'],
  ['with a decimal too long', 'max-age=1.2345'],
  ['with a decimal that ends at its point', 'max-age=1.'],
  ['with letters behind a number', 'max-age=60s'],
  ['with a quote that does not end', 'a="b, max-age=60'],
  ['with a wrong escape', String.raw`a="\b"`],
  ['with a character beyond ASCII', 'a="ü"'],
  ['with a wrong boolean', 'a=?2'],
  ['with a wrong byte sequence', 'a=:_:'],
  ['with a list that does not end', 'a=(1 2'],
  ['with a list without spaces', 'a=("1""2")'],
  ['with a tab in a list', 'a=(1\t2)'],
  ['with a wrong parameter', 'max-age=60;A'],
  ['with a parameter without a value', 'max-age=60;a='],
  ['with a space before a semicolon', 'max-age=60 ;a'],
  ['with a wrong date', 'a=@1.5'],
  ['with a wrong display string', 'a=%"%C3"'],
])('a targeted field %s is ignored', ([, text]) => {
  expect(directives('cache-control', text as string)[1]).toEqual({ 'max-age': ['1'] })
})

test('the first targeted field that is valid counts, in the order of the targets', () => {
  const fields = { 'cache-control': 'max-age=1', 'cdn-cache-control': 'max-age=2', 'our-cache-control': 'max-age=3' }
  const targets = ['our-cache-control', 'cdn-cache-control']
  expect(secondsOf(cacheControlOf(fields, targets).directives, 'max-age')).toBe(3)
  expect(secondsOf(cacheControlOf({ ...fields, 'our-cache-control': '?' }, targets).directives, 'max-age')).toBe(2)
  expect(secondsOf(cacheControlOf(fields, []).directives, 'max-age')).toBe(1)
  expect(secondsOf(cacheControlOf(fields).directives, 'max-age')).toBe(2)
})

test('several lines of a targeted field are one dictionary', () => {
  const { directives } = cacheControlOf({ 'cdn-cache-control': ['max-age=60', 'no-cache'] })
  expect([...directives.keys()]).toEqual(['max-age', 'no-cache'])
})

test('beside a targeted field, Expires and Cache-Control tell nothing', () => {
  const fields = {
    'cdn-cache-control': 'must-revalidate',
    'cache-control': 'max-age=60',
    expires: 'Thu, 01 Jan 2099 00:00:00 GMT',
  }
  const rules = { statuses: statusRule, defaultTtl: null }
  expect(lifetimeOf(responseOf(200, fields), rules, 0)).toEqual({ ms: 0, from: 'none' })
  expect(lifetimeOf(responseOf(200, { ...fields, 'cdn-cache-control': undefined }), rules, 0)).toEqual({
    ms: 60_000,
    from: 'max-age',
  })
})

test('of a name that is there twice, the last is in its place', () => {
  expect([...(dictionaryOf('a=1, b, a=2') ?? [])].map(([name, { value }]) => [name, value])).toEqual([
    ['b', true],
    ['a', 2],
  ])
})
