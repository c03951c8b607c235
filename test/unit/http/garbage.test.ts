import fc from 'fast-check'
import { expect, test } from 'vitest'
import { initialAgeOf } from '../../../src/http/policy/age.ts'
import { notModifiedFields, preconditionOf, entityTagsOf } from '../../../src/http/policy/conditional.ts'
import { fieldsOf, type FieldLine } from '../../../src/http/policy/fields.ts'
import { freshen, isAbout } from '../../../src/http/policy/freshen.ts'
import { dateOf } from '../../../src/http/policy/http-date.ts'
import { invalidatedUris } from '../../../src/http/policy/invalidation.ts'
import { lifetimeOf, statusRule } from '../../../src/http/policy/lifetime.ts'
import { responseOf } from '../../../src/http/policy/message.ts'
import { rangeOf } from '../../../src/http/policy/range.ts'
import { reuse, usableOnError } from '../../../src/http/policy/reuse.ts'
import { staleRules } from '../../../src/http/policy/stale.ts'
import { storable, type StoreRules } from '../../../src/http/policy/storable.ts'
import { dated, storedFields } from '../../../src/http/policy/stored-fields.ts'
import { dictionaryOf } from '../../../src/http/policy/structured-dictionary.ts'
import { selectedBy, varyOf } from '../../../src/http/policy/vary.ts'

const now = Date.UTC(2026, 5, 1)
const rules: StoreRules = {
  statuses: statusRule,
  defaultTtl: null,
  authorization: 'explicit',
  cookie: 'explicit',
  setCookie: 'explicit',
  honor: true,
}
const names = (
  'accept-encoding accept-language age authorization cache-control cdn-cache-control connection ' +
  'content-length cookie date etag expires foo if-modified-since if-none-match if-range ' +
  'last-modified location pragma range set-cookie vary'
).split(' ')

/** Everything that reads a field, with lines of a request and of a response. */
function readAll(status: number, requestLines: readonly FieldLine[], lines: readonly FieldLine[]): void {
  const request = { method: 'GET', fields: fieldsOf(requestLines) }
  const response = responseOf(status, fieldsOf(lines))
  const lifetime = lifetimeOf(response, rules, now).ms
  const age = initialAgeOf(response, { requestedAt: now, receivedAt: now })
  for (const ms of [lifetime, age]) expect(ms >= 0 && Number.isSafeInteger(ms)).toBe(true)
  const stored = { ...staleRules(response), lifetime, age }
  reuse(request, stored, { honor: true })
  usableOnError(request, stored, { honor: true, ifError: 0 })
  storable(request, response, rules, now)
  preconditionOf(request, response, now)
  rangeOf(request, response, 1_000, now)
  const selecting = varyOf(response.fields)
  selectedBy(selecting === '*' ? names : selecting, request.fields)
  selectedBy(names, request.fields)
  isAbout(response.fields, request.fields)
  freshen(lines, requestLines)
  notModifiedFields(dated(storedFields(lines), now))
  invalidatedUris('http://a.example/', lines[0]?.[1] ?? null, lines[1]?.[1] ?? null)
}

const piece = fc.constantFrom(
  ',',
  ', ',
  ' ',
  '\t',
  '"',
  '\\',
  ...(
    '= | ; | ; q= | 0.5 | q | * | ( | ) | : | ?1 | %" | @ | - | / | W/ | max-age | no-cache | public | ' +
    'gzip | en-US | 1 | 99999999999 | 0 | a | bytes= | Sun, 06 Nov 1994 08:49:37 GMT'
  ).split(' | '),
  '\u00fc',
  '\u0000',
  '\ud800',
  '__proto__',
)
const value = fc.oneof(
  fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', maxLength: 20 }),
)
const line = fc.tuple(fc.constantFrom(...names, 'X', '__proto__', 'constructor'), value)

test('whatever stands in the fields, nothing throws, and every time is a whole number of milliseconds', () => {
  const lines = fc.array(line, { maxLength: 8 })
  fc.assert(fc.property(fc.constantFrom(200, 206, 304, 404, 599, -1, Number.NaN), lines, lines, readAll), {
    numRuns: 2_000,
  })
})

test.for([
  ['blanks', ' '],
  ['blanks within', ' ', 'a', 'b'],
  ['tabs within a list', '\t', 'a,', ',b'],
  ['blanks between members', 'a, '],
  ['tabs and words', '\ta'],
  ['commas', ','],
  ['quotes', '"'],
  ['quotes behind names', 'a="'],
  ['quotes behind escapes', 'a="\\"'],
  ['escapes', '\\'],
  ['escaped quotes', ',b=\\"', 'a="'],
  ['equals signs', '='],
  ['digits', '9', 'max-age='],
  ['digits, and then something', '9', 'max-age=', 'x'],
  ['zeros', '0', 'bytes=', '-'],
  ['dashes', '-'],
  ['letters', 'a'],
  ['languages', 'ab-'],
  ['codings', 'gzip;q=0.5,'],
  ['parameters', ';a=1', 'a'],
  ['brackets', '(', 'a='],
  ['lists', '1 ', 'a=('],
  ['blanks in a list', ' ', 'a=('],
  ['text', 'ab', 'a="'],
  ['text with escapes', '\\"', 'a="'],
  ['weak tags', 'W/"'],
  ['dates', 'Sun, '],
  ['slashes', '/', 'http://a.example/', '..'],
] as const)('64 kB of %s are read in no time', ([, unit, before = '', after = '']) => {
  const long = before + unit.repeat(65_536 / unit.length) + after
  const lines = names.map((name): FieldLine => [name, long])
  const before64 = process.cpuUsage()
  readAll(200, lines, lines)
  dictionaryOf(long)
  entityTagsOf(long)
  dateOf(long, now)
  const { user } = process.cpuUsage(before64)
  // Some tens of milliseconds; what looks at each character again for each costs seconds.
  expect(user / 1_000).toBeLessThan(1_000)
})

test('the many lines of a long header are read in no time', () => {
  const lines = Array.from({ length: 4_000 }, (_, index): FieldLine => [
    index % 2 === 0 ? 'Connection' : 'Vary',
    `a${index}`,
  ])
  const before = process.cpuUsage()
  readAll(200, lines, lines)
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000)
})
