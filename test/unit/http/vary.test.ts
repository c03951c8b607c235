import fc from 'fast-check'
import { expect, test } from 'vitest'
import { acceptedEncodings, acceptedLanguages } from '../../../src/http/policy/accepted.ts'
import type { Fields } from '../../../src/http/policy/fields.ts'
import { selectedBy, varyOf } from '../../../src/http/policy/vary.ts'

test.for([
  ['is absent', undefined, []],
  ['is empty', '', []],
  ['names fields', 'Foo, bar,BAZ', ['bar', 'baz', 'foo']],
  ['names a field twice', 'Foo, foo, FOO', ['foo']],
  ['has several lines', ['Foo', '', 'Bar'], ['bar', 'foo']],
  ['has empty members', ', ,Foo,,', ['foo']],
  ['names what each object has', '__proto__, constructor', ['__proto__', 'constructor']],
  ['is *', '*', '*'],
  ['is *, *', '*, *', '*'],
  ['has * in its second line', ['', '*'], '*'],
  ['begins with *', '*, Foo', '*'],
  ['ends with *', 'Foo, *', '*'],
  ['has what cannot be a name', 'Foo; Bar', '*'],
  ['has a quoted name', '"Foo"', '*'],
] as const)('a Vary that %s', ([, vary, expected]) => {
  expect(varyOf({ vary })).toEqual(expected)
})

function same(
  name: string,
  one: string | readonly string[] | undefined,
  other: string | readonly string[] | undefined,
): boolean {
  return selectedBy([name], { [name]: one }) === selectedBy([name], { [name]: other })
}

test.for([
  ['spaces around commas', 'foo', '1,2', ' 1 ,\t2 '],
  ['lines', 'foo', '1, 2', ['1', '2']],
  ['lines of what is no list', 'cookie', 'a=b, c=d', ['a=b', 'c=d']],
  ['blanks at the ends', 'user-agent', ' a ', 'a'],
] as const)('%s make no difference', ([, name, one, other]) => {
  expect(same(name, one, other)).toBe(true)
})

test.for([
  ['an absent field and an empty one', 'foo', undefined, ''],
  ['an absent field and one that says null', 'foo', undefined, 'null'],
  ['the order', 'foo', '1, 2', '2, 1'],
  ['the order of languages of one quality', 'accept-language', 'en, de', 'de, en'],
  ['the case', 'foo', 'a', 'A'],
  ['empty members', 'foo', '1,,2', '1,2'],
  ['spaces within', 'foo', '1 2', '12'],
  ['spaces in what is quoted', 'foo', '"1, 2"', '"1,2"'],
  ['spaces in brackets', 'foo', 'a (1, 2)', 'a (1,2)'],
  ['spaces in what is no list', 'user-agent', 'a, b', 'a,b'],
  ['spaces in a cookie', 'cookie', 'a=1, 2', 'a=1,2'],
  ['spaces that are none', 'foo', '1,\u00a02', '1,2'],
  ['spaces that are none, at the end', 'foo', '1\u00a0', '1'],
  ['halves of characters', 'foo', '\ud800', '\udbff'],
] as const)('%s make a difference', ([, name, one, other]) => {
  expect(same(name, one, other)).toBe(false)
})

test('what stands in one field is not taken for what stands in another', () => {
  const texts = [
    selectedBy(['a', 'b'], { a: '1', b: '2' }),
    selectedBy(['a', 'b'], { a: '1,2' }),
    selectedBy(['a', 'b'], { b: '1,2' }),
    selectedBy(['a', 'b'], { a: '1","2' }),
    selectedBy(['a', 'b'], { a: '', b: '1,2' }),
    selectedBy(['a', 'b'], { a: '2', b: '1' }),
    selectedBy(['a', 'c'], { a: '1', c: '2' }),
    selectedBy(['a'], { a: '1' }),
    selectedBy(['a,b'], {}),
    selectedBy(['a', 'b'], {}),
    selectedBy([], { a: '1' }),
    selectedBy(['__proto__'], {}),
    selectedBy(['constructor'], {}),
  ]
  expect(new Set(texts).size).toBe(texts.length)
})

const word = fc
  .string({ unit: fc.constantFrom('a', 'B', '1', ';', '=', '[', '\\', '\u00e9', ' x', 'null'), maxLength: 3 })
  .map((text) => text.trim())
const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', '__proto__'), { maxLength: 3 })
const spaces = fc.constantFrom('', ' ', '\t', '  ')
/** A value as the list that is meant, and spelled in two ways. */
const list = fc.array(fc.tuple(word, spaces, spaces, fc.boolean()), { minLength: 1, maxLength: 4 })

function spelled(members: readonly (readonly [string, string, string, boolean])[], seed: number): string[] {
  return members.reduce<string[]>((lines, [member, before, after, breaks], index) => {
    const text = (index + seed) % 2 === 0 ? before + member + after : member
    const last = lines.at(-1)
    if (last === undefined || (breaks && seed === 1)) return [...lines, text]
    return [...lines.slice(0, -1), `${last},${text}`]
  }, [])
}

test('two requests have the same text only if their fields mean the same, however they are spelled', () => {
  const request = fc.tuple(
    names,
    fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), list, { noNullPrototype: false }),
  )
  fc.assert(
    fc.property(request, request, ([someNames, some], [otherNames, others]) => {
      const fields = (lists: typeof some, seed: number): Fields =>
        Object.fromEntries(Object.entries(lists).map(([name, members]) => [name, spelled(members, seed)]))
      const meaning = (of: readonly string[], lists: typeof some): string =>
        JSON.stringify(
          of.map((name) => [name, Object.hasOwn(lists, name) ? (lists[name] ?? []).map(([member]) => member) : null]),
        )
      expect(selectedBy(someNames, fields(some, 0))).toBe(selectedBy(someNames, fields(some, 1)))
      const isSame = selectedBy(someNames, fields(some, 1)) === selectedBy(otherNames, fields(others, 1))
      expect(isSame).toBe(meaning(someNames, some) === meaning(otherNames, others))
    }),
    { numRuns: 1_000 },
  )
})

test('of any values without commas and blanks, no two have the same text', () => {
  const value = fc.option(
    fc.string({ unit: 'binary-ascii', maxLength: 3 }).map((text) => text.replaceAll(/[, \t]/g, '')),
    { nil: undefined },
  )
  const request = fc.record({ a: value, 'user-agent': value, b: value })
  fc.assert(
    fc.property(request, request, (one, other) => {
      const of = ['a', 'user-agent', 'b']
      const isSame = selectedBy(of, one) === selectedBy(of, other)
      expect(isSame).toBe(one.a === other.a && one['user-agent'] === other['user-agent'] && one.b === other.b)
    }),
    { numRuns: 1_000 },
  )
})

test.for([
  ['gzip, deflate, br', 'br,deflate,gzip'],
  ['gzip,deflate,br', 'br,deflate,gzip'],
  ['BR, GZip;q=1.000,deflate;Q=1', 'br,deflate,gzip'],
  ['x-gzip', 'gzip'],
  ['gzip, br;q=0', 'gzip'],
  ['gzip;q=0', ''],
  ['', ''],
  ['gzip, identity;q=0', 'gzip,identity;q=0'],
  ['gzip, *;q=0', 'gzip,*;q=0'],
  ['*, gzip;q=0', '*,gzip;q=0'],
  ['gzip;q=0.8, br;q=0.4', 'gzip,br;q=0.999'],
  ['br;q=0.001, gzip;q=0.002', 'gzip,br;q=0.999'],
  ['gzip;q=0.5', 'gzip'],
  ['gzip;q=0.5, *;q=0.1, br;q=0.5', 'br,gzip,*;q=0.999'],
  ['lz4, gzip', 'gzip,lz4'],
  [',gzip , ,', 'gzip'],
  // What is not valid is as it came.
  ['gzip, x-gzip', 'gzip, x-gzip'],
  ['gzip, gzip;q=0', 'gzip, gzip;q=0'],
  ['gzip;q=2', 'gzip;q=2'],
  ['gzip;q=1.001', 'gzip;q=1.001'],
  ['gzip;q=0.0001', 'gzip;q=0.0001'],
  ['gzip;q=', 'gzip;q='],
  ['gzip;level=9', 'gzip;level=9'],
  ['gzip;q=1;q=1', 'gzip;q=1;q=1'],
  ['gzip br', 'gzip br'],
  ['gzip;q=1\u00a0', 'gzip;q=1\u00a0'],
] as const)('who accepts %o accepts %o', ([field, expected]) => {
  expect(acceptedEncodings(field)).toBe(expected)
  expect(acceptedEncodings(expected), 'which is the same').toBe(expected)
})

test.for([
  ['en-US,en;q=0.9', 'en-US,en;q=0.9'],
  ['en;q=0.9 , EN-us', 'en-US,en;q=0.9'],
  ['en-US;q=1.0, en;q=0.90', 'en-US,en;q=0.9'],
  ['en, de', 'en,de'],
  ['de, en', 'de,en'],
  ['fr;q=0.5, de;q=1.0', 'de,fr;q=0.5'],
  ['*;q=0.1, zh-Hant-TW', 'zh-Hant-TW,*;q=0.1'],
  ['en, de;q=0', 'en,de;q=0'],
  ['', ''],
  ['en_US', 'en_US'],
  ['En;q=x', 'En;q=x'],
  ['en;q=.5', 'en;q=.5'],
  ['abcdefghi', 'abcdefghi'],
] as const)('who understands %o understands %o', ([field, expected]) => {
  expect(acceptedLanguages(field)).toBe(expected)
  expect(acceptedLanguages(expected), 'which is the same').toBe(expected)
})

/** RFC 9110 section 12.5.3, as a handler may read it: the best of what it has, by quality and then by its own taste. */
function encodingFor(field: string, available: readonly string[]): string | undefined {
  const qualities = new Map(
    field.split(',').map((member) => {
      const [coding = '', quality = 'q=1'] = member.split(';')
      return [coding.trim().toLowerCase(), Number(quality.trim().slice(2))] as const
    }),
  )
  const qualityOf = (coding: string): number =>
    qualities.get(coding) ?? qualities.get('*') ?? (coding === 'identity' ? 1e-9 : 0)
  return available
    .filter((coding) => qualityOf(coding) > 0)
    .toSorted((one, other) => qualityOf(other) - qualityOf(one))
    .at(0)
}

const weighted = (values: readonly string[]): fc.Arbitrary<string> =>
  fc
    .uniqueArray(
      fc.tuple(
        fc.constantFrom(...values),
        fc.constantFrom('', ';q=0', ';q=0.5', '; Q=0.50', ';q=1.0', ' ;q=0.2'),
        spaces,
      ),
      {
        selector: ([value]) => value.toLowerCase(),
        minLength: 1,
        maxLength: 4,
      },
    )
    .map((members) => members.map(([value, quality, space]) => space + value + quality).join(','))

test('requests that accept the same are answered the same by any handler', () => {
  const field = weighted(['gzip', 'GZIP', 'br', 'identity', '*', 'zstd'])
  let merged = 0
  fc.assert(
    fc.property(
      field,
      field,
      fc.shuffledSubarray(['gzip', 'br', 'identity', 'zstd', 'lz4']),
      (one, other, available) => {
        if (acceptedEncodings(one) !== acceptedEncodings(other)) return
        if (one !== other) merged++
        expect(encodingFor(one, available)).toBe(encodingFor(other, available))
      },
    ),
    { numRuns: 10_000 },
  )
  expect(merged).toBeGreaterThan(20)
})

/** By quality, and of one quality the first, as many handlers do. */
function languageFor(field: string, available: readonly string[]): string | undefined {
  const wanted = field.split(',').map((member) => {
    const [language = '', quality = 'q=1'] = member.split(';')
    return { language: language.trim().toLowerCase(), quality: Number(quality.trim().slice(2)) }
  })
  return wanted
    .filter(({ quality }) => quality > 0)
    .toSorted((one, other) => other.quality - one.quality)
    .map(({ language }) => language)
    .find((language) => available.includes(language))
}

test('requests that understand the same are answered the same by a handler that heeds the order', () => {
  const field = weighted(['en', 'EN', 'de', 'fr-CA', '*'])
  let merged = 0
  fc.assert(
    fc.property(field, field, fc.shuffledSubarray(['en', 'de', 'fr-ca', '*']), (one, other, available) => {
      if (acceptedLanguages(one) !== acceptedLanguages(other)) return
      if (one !== other) merged++
      expect(languageFor(one, available)).toBe(languageFor(other, available))
    }),
    { numRuns: 10_000 },
  )
  expect(merged).toBeGreaterThan(20)
})
