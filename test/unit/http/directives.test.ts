import { expect, test } from 'vitest'
import { allows, directivesOf, secondsOf } from '../../../src/http/policy/directives.ts'
import { fieldOf, fieldsOf } from '../../../src/http/policy/fields.ts'

function parsed(field: string | null): Record<string, readonly (string | null)[]> {
  return Object.fromEntries(directivesOf(field))
}

test.for([
  ['is absent', null, {}],
  ['is empty', '', {}],
  ['has empty members', ' , no-store,, ,', { 'no-store': [null] }],
  ['has names in capitals', 'No-StOrE, MaX-aGe=1', { 'no-store': [null], 'max-age': ['1'] }],
  ['has tabs and spaces around its members', '\tpublic \t,\t max-age=1 ', { public: [null], 'max-age': ['1'] }],
  ['has a quoted argument', 'max-age="3600"', { 'max-age': ['3600'] }],
  ['has an empty quoted argument', 'private=""', { private: [''] }],
  ['has escapes in a quoted argument', String.raw`a="x\"y\\z"`, { a: [String.raw`x"y\z`] }],
  ['has commas in a quoted argument', 'no-cache="a, b", public', { 'no-cache': ['a, b'], public: [null] }],
  ['has a directive in a quoted argument', 'x="max-age=3600", max-age=1', { x: ['max-age=3600'], 'max-age': ['1'] }],
  ['has one directive twice', 'max-age=1, public, max-age=2', { 'max-age': ['1', '2'], public: [null] }],
  ['has a member without a name', '=5, "a", public', { public: [null] }],
  [
    'has the name of something each object has',
    'constructor, __proto__=1',
    { constructor: [null], ['__proto__']: ['1'] },
  ],
] as const)('the directives of a field that %s', ([, field, expected]) => {
  expect(parsed(field)).toEqual(expected)
})

test.for([
  ['a space before its =', 'max-age =1'],
  ['a space behind its =', 'max-age= 1'],
  ['nothing behind its =', 'max-age='],
  ['a word behind it', 'max-age 1'],
  ['something behind its quotes', 'max-age="1"0'],
  ['a quote that does not end', 'max-age="1'],
  ['a quote that only seems to end', String.raw`max-age="1\"`],
  ['two arguments', 'max-age=1=2'],
  ['a quote before it that does not end', 'x="1, max-age=1'],
] as const)('a directive with %s is there, and its argument is none', ([, field]) => {
  const directives = directivesOf(field)
  expect(directives.get('max-age')).toHaveLength(1)
  expect(secondsOf(directives, 'max-age')).toBe('invalid')
  expect(secondsOf(directivesOf(field.replaceAll('max-age', 'other')), 'max-age')).toBeNull()
})

test('what is behind a quote that does not end is heeded where it forbids, and not where it allows', () => {
  const directives = directivesOf('x="a, no-store, public')
  expect([directives.has('no-store'), directives.has('public')]).toEqual([true, true])
  expect([allows(directives, 'no-store'), allows(directives, 'public')]).toEqual([false, false])
})

test('what is between quotes is not heeded, even where something odd follows', () => {
  expect([...directivesOf('x="a, no-store, public"y, private').keys()]).toEqual(['x', 'private'])
})

test.for([
  ['public', true],
  ['PUBLIC', true],
  ['public, public', true],
  ['public=1', false],
  ['public=""', false],
  ['public x', false],
  ['public, public=1', false],
  ['private', false],
] as const)('%s allows to share: %s', ([field, expected]) => {
  expect(allows(directivesOf(field), 'public')).toBe(expected)
})

test.for([
  ['max-age=0', 0],
  ['max-age=3600', 3600],
  ['max-age=003600', 3600],
  ['max-age="3600"', 3600],
  ['max-age=2147483647', 2 ** 31 - 1],
  ['max-age=2147483649', 2 ** 31],
  ['max-age=99999999999', 2 ** 31],
  [`max-age=${'9'.repeat(400)}`, 2 ** 31],
  ['max-age=60, max-age=60', 60],
  ['max-age=60, max-age="060"', 60],
  ['public', null],
  ['max-age', 'invalid'],
  ['max-age=', 'invalid'],
  ['max-age=""', 'invalid'],
  ['max-age=-1', 'invalid'],
  ['max-age=+1', 'invalid'],
  ['max-age=1.0', 'invalid'],
  ['max-age=1e3', 'invalid'],
  ['max-age=0x10', 'invalid'],
  ['max-age=a3600', 'invalid'],
  ['max-age=3600a', 'invalid'],
  ["max-age='3600'", 'invalid'],
  ['max-age=" 3600"', 'invalid'],
  ['max-age="٣"', 'invalid'],
  ['max-age=60, max-age=61', 'invalid'],
  ['max-age=60, max-age', 'invalid'],
  ['max-age=a, max-age=60', 'invalid'],
] as const)('the seconds of %s are %s', ([field, expected]) => {
  expect(secondsOf(directivesOf(field), 'max-age')).toBe(expected)
})

test('the value of a field is that of its lines, without the blanks around them', () => {
  const fields = { a: ' 1 ', b: ['\t1', '2 '], c: '', d: undefined, e: '\u00a01\u00a0' }
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'constructor', '__proto__']
  expect(names.map((name) => fieldOf(fields, name))).toEqual(['1', '1, 2', '', null, '\u00a01\u00a0', null, null, null])
})

test('the lines of a header are found by the lower-case name, whatever it is', () => {
  const fields = fieldsOf([
    ['A', '1'],
    ['b', '2'],
    ['a', '3'],
    ['A', '4'],
    ['__proto__', '5'],
    ['constructor', '6'],
  ])
  const names = ['a', 'b', '__proto__', 'constructor', 'toString']
  expect(names.map((name) => fieldOf(fields, name))).toEqual(['1, 3, 4', '2', '5', '6', null])
})
