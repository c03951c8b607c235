import { expect, test } from 'vitest'
import type { FieldLine } from '../../../src/http/policy/fields.ts'
import { freshen, isAbout } from '../../../src/http/policy/freshen.ts'
import { dated, storedFields } from '../../../src/http/policy/stored-fields.ts'

/** The lines of a header, each as it is spelled. */
function lines(...texts: string[]): FieldLine[] {
  return texts.map((text) => text.split(': ') as [string, string])
}

const kept = lines(
  'Content-Type: text/plain',
  'content-TYPE: text/html',
  'Link: <a>',
  'X-One: 1',
  'Link: <b>',
  '__proto__: 1',
)

test('the fields of one connection are not stored, and all others are, in order and as they are spelled', () => {
  const dropped = (
    'Connection Keep-Alive Proxy-Authenticate Proxy-Authentication-Info Proxy-Authorization ' +
    'Proxy-Connection TE Trailer Transfer-Encoding uPGRADE'
  ).split(' ')
  const mixed = kept.flatMap((line, index): FieldLine[] => [line, [dropped[index] as string, 'x']])
  const rest = dropped.slice(kept.length).map((name): FieldLine => [name, 'x'])
  expect(storedFields([...mixed, ...rest])).toEqual(kept)
})

test('what Connection names is not stored, wherever it stands', () => {
  const given = lines('A: 1', 'Connection: a, , B', 'b: 2', 'c: 3', 'connection: d', 'D: 4', 'a: 5')
  expect(storedFields(given)).toEqual(lines('c: 3'))
})

test('Set-Cookie is not stored', () => {
  const given = lines('Set-Cookie: a=b', 'A: 1', 'set-cookie: c=d')
  expect(storedFields(given)).toEqual(lines('A: 1'))
})

test('what comes without a Date has that of when it came', () => {
  expect(dated(lines('A: 1'), 784_111_777_000)).toEqual(lines('A: 1', 'Date: Sun, 06 Nov 1994 08:49:37 GMT'))
  expect(dated(lines('dAtE: x'), 784_111_777_000)).toEqual(lines('dAtE: x'))
})

test('a 304 replaces the fields it has, all lines of each, and leaves the others', () => {
  const stored = lines('Link: <a>', 'A: 1', 'Date: then', 'Link: <b>', 'B: 2', 'Age: 500')
  const update = lines('date: now', 'X: 1', 'LINK: <c>', 'link: <d>', 'x: 2', 'Connection: b', 'b: 3')
  expect(freshen(stored, update)).toEqual(lines('LINK: <c>', 'link: <d>', 'A: 1', 'date: now', 'B: 2', 'X: 1', 'x: 2'))
})

const fixed =
  'Content-Encoding Content-Length Content-MD5 Content-Range Content-Digest ETag Transfer-Encoding Connection'

test.for(fixed.split(' '))('a 304 does not replace %s', (name) => {
  const update = lines(`${name}: b`)
  const stored = lines(`${name}: a`, 'A: 1')
  expect(freshen(stored, update)).toEqual(stored)
  expect(freshen(lines('A: 1'), update)).toEqual(lines('A: 1'))
})

const replaced =
  'Cache-Control Content-Foo Content-Location Content-Security-Policy Content-Type Clear-Site-Data Expires Age Vary ' +
  'Public-Key-Pins Set-Cookie2 X-Content-Foo X-Frame-Options X-XSS-Protection Last-Modified'

test.for(replaced.split(' '))('a 304 replaces %s', (name) => {
  const update = lines(`${name}: c`)
  expect(freshen(lines(`${name}: a`, `${name}: b`), update)).toEqual(update)
})

test('a 304 sets no cookie', () => {
  expect(freshen(lines('A: 1'), lines('Set-Cookie: a=b'))).toEqual(lines('A: 1'))
})

const modified = { 'last-modified': 'Sun, 06 Nov 1994 08:49:37 GMT' }
const later = { 'last-modified': 'Sun, 06 Nov 1994 08:49:38 GMT' }

test.for([
  ['the same strong tag', { etag: '"a"' }, { etag: '"a"' }, true],
  ['another strong tag', { etag: '"a"' }, { etag: '"b"' }, false],
  ['another strong tag and the same Last-Modified', { etag: '"a"', ...modified }, { etag: '"b"', ...modified }, false],
  ['the same strong tag and another Last-Modified', { etag: '"a"', ...modified }, { etag: '"a"', ...later }, true],
  ['a strong tag, where the stored one is weak', { etag: 'W/"a"' }, { etag: '"a"' }, false],
  ['a strong tag, where there was none', modified, { etag: '"a"', ...modified }, false],
  ['a weak tag, where the stored one is strong', { etag: '"a"' }, { etag: 'W/"a"' }, true],
  ['another weak tag', { etag: 'W/"a"' }, { etag: 'W/"b"' }, false],
  ['a weak tag, where there was none', modified, { etag: 'W/"a"' }, false],
  ['a weak tag, where there was none, and the same Last-Modified', modified, { etag: 'W/"a"', ...modified }, true],
  ['the same weak tag and another Last-Modified', { etag: 'W/"a"', ...modified }, { etag: 'W/"a"', ...later }, false],
  ['the same Last-Modified', modified, modified, true],
  ['another Last-Modified', modified, later, false],
  ['a Last-Modified, where there was none', { etag: '"a"' }, modified, false],
  ['the same tag without quotes', { etag: 'a' }, { etag: 'a' }, true],
  ['nothing', { etag: '"a"', ...modified }, {}, true],
] as const)('a 304 is about the stored response or not, with %s', ([, stored, update, expected]) => {
  expect(isAbout(stored, update)).toBe(expected)
})
