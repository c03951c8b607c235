const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const month = `(${months.join('|')})`
const day = '(?:mon|tue|wed|thu|fri|sat|sun)'
const time = String.raw`(\d{2}):(\d{2}):(\d{2})`

// RFC 9111 section 4.2: a cache matches the letters case-insensitively, and takes a date in any zone but GMT for
// invalid.
const fixed = new RegExp(String.raw`^${day}, (\d{2}) ${month} (\d{4}) ${time} gmt$`, 'i')
const rfc850 = new RegExp(
  String.raw`^(?:mon|tues|wednes|thurs|fri|satur|sun)day, (\d{2})-${month}-(\d{2}) ${time} gmt$`,
  'i',
)
const asctime = new RegExp(String.raw`^${day} ${month} (\d{2}| \d) ${time} (\d{4})$`, 'i')

/**
 * Parses a date in one of the three formats of RFC 9110 section 5.6.7. The day of the week is not checked against the
 * date.
 * @param now the current time in milliseconds since the epoch; a two-digit year is at most 50 years after it
 * @returns milliseconds since the epoch; `null` for any other text
 */
export function dateOf(text: string | null, now: number): number | null {
  // The longest valid date has 33 characters.
  if (text === null || text.length > 40) return null
  let match = fixed.exec(text)
  if (match) return instant({ year: match[3], name: match[2], date: match[1], clock: match.slice(4) })
  match = asctime.exec(text)
  if (match) return instant({ year: match[6], name: match[1], date: match[2], clock: match.slice(3) })
  match = rfc850.exec(text)
  if (match === null) return null
  return instant({ year: fullYear(Number(match[3]), now), name: match[2], date: match[1], clock: match.slice(4) })
}

/**
 * Formats an instant as a date of a header, in the preferred format (IMF-fixdate).
 * @param at milliseconds since the epoch
 */
export function dateText(at: number): string {
  return new Date(at).toUTCString()
}

type Part = string | number | undefined

/** The parts of a date; `clock` is hour, minute and second. */
interface Parts {
  readonly year: Part
  readonly name: Part
  readonly date: Part
  readonly clock: readonly string[]
}

function instant({ year, name, date, clock: [hour, minute, second] }: Parts): number | null {
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null
  const at = new Date(0)
  at.setUTCFullYear(Number(year), months.indexOf(String(name).toLowerCase()), Number(date))
  // `setUTCFullYear` turns the 31st of February into a day in March.
  if (at.getUTCDate() !== Number(date)) return null
  // RFC 9111 section 4.2: a value finer than the clock is rounded down; so is a leap second.
  return at.setUTCHours(Number(hour), Number(minute), Math.min(Number(second), 59))
}

/**
 * RFC 9110 section 5.6.7: a two-digit year more than 50 years in the future is the latest past year with those digits.
 */
function fullYear(digits: number, now: number): number {
  const thisYear = new Date(now).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + digits
  if (year > thisYear + 50) return year - 100
  return year <= thisYear - 50 ? year + 100 : year
}
