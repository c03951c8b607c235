import { expect, test } from 'vitest'
import { dateOf, dateText } from '../../../src/http/policy/http-date.ts'

const now = Date.UTC(2026, 5, 1)

test.for([
  ['Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Sunday, 06-Nov-94 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Sun Nov  6 08:49:37 1994', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Wed Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
  ['SUN, 06 nov 1994 08:49:37 gMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  // Whether it was a Sunday is not asked.
  ['Mon, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 29)],
  ['Tue, 19 Jan 2038 14:14:08 GMT', Date.UTC(2038, 0, 19, 14, 14, 8)],
  ['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2016, 11, 31, 23, 59, 59)],
  ['Fri, 31 Dec 9999 23:59:59 GMT', Date.UTC(9999, 11, 31, 23, 59, 59)],
  ['Mon, 01 Jan 0050 00:00:00 GMT', new Date(Date.UTC(2000, 0, 1)).setUTCFullYear(50)],
] as const)('%s is a date', ([text, expected]) => {
  expect(dateOf(text, now)).toBe(expected)
})

test.for([
  ['is absent', null],
  ['is empty', ''],
  ['is a number', '0'],
  ['is a date of JavaScript', '2050-08-18T02:01:18Z'],
  ['is of another zone', 'Thu, 18 Aug 2050 02:01:18 AEST'],
  ['names the same zone otherwise', 'Thu, 18 Aug 2050 02:01:18 UTC'],
  ['names it otherwise, and has a short year', 'Thursday, 18-Aug-50 02:01:18 UTC'],
  ['has an offset', 'Thu, 18 Aug 2050 02:01:18 +0000'],
  ['has a year of two digits', 'Thu, 18 Aug 50 02:01:18 GMT'],
  ['has a year of five digits', 'Thu, 18 Aug 20500 02:01:18 GMT'],
  ['has no comma', 'Thu 18 Aug 2050 02:01:18 GMT'],
  ['has no weekday', '18 Aug 2050 02:01:18 GMT'],
  ['has an unknown weekday', 'Xxx, 18 Aug 2050 02:01:18 GMT'],
  ['has an unknown month', 'Thu, 18 Foo 2050 02:01:18 GMT'],
  ['has two spaces', 'Thu, 18  Aug 2050 02:01:18 GMT'],
  ['has dashes', 'Thu, 18-Aug-2050 02:01:18 GMT'],
  ['has periods', 'Thu, 18 Aug 2050 02.01.18 GMT'],
  ['has an hour of one digit', 'Thu, 18 Aug 2050 2:01:18 GMT'],
  ['has a day of one digit', 'Thu, 8 Aug 2050 02:01:18 GMT'],
  ['has the day 0', 'Thu, 00 Aug 2050 02:01:18 GMT'],
  ['has the day 32', 'Thu, 32 Aug 2050 02:01:18 GMT'],
  ['has a day the month has not', 'Thu, 31 Feb 2050 02:01:18 GMT'],
  ['has a day the year has not', 'Thu, 29 Feb 2023 02:01:18 GMT'],
  ['has the hour 24', 'Thu, 18 Aug 2050 24:00:00 GMT'],
  ['has the minute 60', 'Thu, 18 Aug 2050 02:60:00 GMT'],
  ['has the second 61', 'Thu, 18 Aug 2050 02:00:61 GMT'],
  ['is two dates', 'Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:18 GMT'],
  ['has something before it', ' Thu, 18 Aug 2050 02:01:18 GMT'],
  ['has something behind it', 'Thu, 18 Aug 2050 02:01:18 GMT;'],
  ['has a short weekday before a short year', 'Thu, 18-Aug-50 02:01:18 GMT'],
] as const)('what %s is no date', ([, text]) => {
  expect(dateOf(text, now)).toBeNull()
})

test.for([
  ['26', 2026],
  ['76', 2076],
  ['77', 1977],
  ['99', 1999],
  ['00', 2000],
] as const)('in 2026 the year %s is %s', ([digits, expected]) => {
  expect(new Date(dateOf(`Sunday, 01-Jan-${digits} 00:00:00 GMT`, now) ?? 0).getUTCFullYear()).toBe(expected)
})

test('at the end of a century the years of the next have the digits of its begin', () => {
  const then = Date.UTC(2090, 0, 1)
  const years = ['10', '40', '41', '89'].map((digits) =>
    new Date(dateOf(`Sunday, 01-Jan-${digits} 00:00:00 GMT`, then) ?? 0).getUTCFullYear(),
  )
  expect(years).toEqual([2110, 2140, 2041, 2089])
})

test('a date that is written can be read', () => {
  for (const instant of [0, now, Date.UTC(2099, 11, 31, 23, 59, 59)])
    expect(dateOf(dateText(instant), now)).toBe(instant)
})
