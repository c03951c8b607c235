import { describe, expect, test } from 'vitest'
import { longestLife, longestTimer, parseDuration, formatValue } from '../../../src/core/time/duration.ts'

const most = longestLife

describe('a duration', () => {
  test.for([
    [1, 1],
    [1.5, 1.5],
    [60_000, 60_000],
    ['1ms', 1],
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5s', 1_500],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['1d', 86_400_000],
    ['0.5d', 43_200_000],
  ] as const)('of %j is %d milliseconds', ([given, expected]) => {
    expect(parseDuration('ttl', given, { most })).toBe(expected)
  })

  test.for([
    ['0 (number)', 0],
    ['-1 (number)', -1],
    ['0.5 (number)', 0.5],
    ['NaN (number)', Number.NaN],
    ['-Infinity (number)', -Infinity],
    ['"" (string)', ''],
    ['"5" (string)', '5'],
    ['"5 m" (string)', '5 m'],
    ['" 5m" (string)', ' 5m'],
    [String.raw`"5m\n" (string)`, '5m\n'],
    ['"-5m" (string)', '-5m'],
    ['"+5m" (string)', '+5m'],
    ['".5m" (string)', '.5m'],
    ['"5.m" (string)', '5.m'],
    ['"1e3ms" (string)', '1e3ms'],
    ['"0x10ms" (string)', '0x10ms'],
    ['"5M" (string)', '5M'],
    ['"5min" (string)', '5min'],
    ['"5m30s" (string)', '5m30s'],
    ['"0s" (string)', '0s'],
    ['"٥m" (string)', '٥m'],
    ['5 (bigint)', 5n],
    ['true (boolean)', true],
    ['null', null],
    ['undefined', undefined],
    ['Symbol(m) (symbol)', Symbol('m')],
    ['an object', {}],
    ['an object', new Date(0)],
    ['an array', [5]],
    ['a function', () => 5],
  ] as const)('is refused when it is %s, and the error says what was expected and what came', ([got, given]) => {
    const expected = "Expected `ttl` to be a positive number of milliseconds or a duration such as '5m', got "
    expect(() => parseDuration('ttl', given, { most })).toThrow(new TypeError(expected + got))
  })

  test.for([Infinity, longestLife + 1, 2 ** 53, '36526d'] as const)(
    'is refused when it is %j, and the error says the most',
    (given) => {
      const expected = `or a duration such as '5m' of at most ${longestLife} ms, got `
      expect(() => parseDuration('ttl', given, { most })).toThrow(expected)
      expect(() => parseDuration('ttl', given, { most })).toThrow(TypeError)
    },
  )

  test('may be zero where zero means something', () => {
    expect(parseDuration('grace', 0, { least: 0, most })).toBe(0)
    expect(parseDuration('grace', '0ms', { least: 0, most })).toBe(0)
    const expected =
      "Expected `grace` to be a number of milliseconds, 0 or more, or a duration such as '5m', got -1 (number)"
    expect(() => parseDuration('grace', -1, { least: 0, most })).toThrow(new TypeError(expected))
  })

  test('may be as long as its bounds say, and no longer', () => {
    expect(parseDuration('waitTimeout', longestTimer, { most: longestTimer })).toBe(2_147_483_647)
    expect(() => parseDuration('waitTimeout', longestTimer + 1, { most: longestTimer })).toThrow(TypeError)
    expect(parseDuration('leaseTtl', 30, { least: 30, most })).toBe(30)
    expect(() => parseDuration('leaseTtl', 29, { least: 30, most })).toThrow(TypeError)
  })
})

test('a value in an error is cut, so that a key of a megabyte does not fill the log', () => {
  expect(formatValue('x'.repeat(1_000_000))).toBe(`"${'x'.repeat(60)}" (string)`)
})

test.for([
  ['a bigint', 10n ** 1_000n],
  ['a symbol', Symbol('x'.repeat(1_000))],
] as const)('so is %s, which may be as long', ([, value]) => {
  expect(formatValue(value).length).toBeLessThan(80)
})

test.for([
  ['redis://:hunter2@localhost:6379/0', '"redis://…" (string)'],
  ['rediss://user:hunter2@localhost', '"rediss://…" (string)'],
  [`${'x'.repeat(50)}redis://user:hunter2@localhost`, `"${'x'.repeat(50)}redis://…" (string)`],
  [':hunter2@localhost:6379', '"…" (string)'],
  ['user:hunter2@localhost', '"…" (string)'],
] as const)('of the URL %s in an error nothing is shown that could be a password', ([url, expected]) => {
  expect(formatValue(url)).toBe(expected)
})

test('a proxy that was revoked is an object like any other', () => {
  const { proxy, revoke } = Proxy.revocable([], {})
  revoke()
  expect(formatValue(proxy)).toBe('an object')
})
