import { types } from 'node:util'

type Unit = 'ms' | 's' | 'm' | 'h' | 'd'

// Not `${number}`, which would take blanks, as in '5 m'.
/** A span of time: a number of milliseconds, or a string with a unit (`'250ms'`, `'30s'`, `'1.5m'`, `'1h'`, `'1d'`). */
export type Duration = number | `${bigint}${Unit}` | `${bigint}.${number}${Unit}`

const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The longest delay of a timer in Node.js, in milliseconds (2³¹ − 1, about 24.8 days). */
export const longestTimer = 2_147_483_647

/** The longest lifetime of a value, in milliseconds: a hundred years. A longer one is a mistaken unit. */
export const longestLife: number = 36_525 * 86_400_000

/**
 * Converts a duration to milliseconds.
 * @param name the option, as the error names it
 * @param value the user's value
 * @param bounds the least and the most milliseconds allowed; `least` is 1 by default, so zero is refused
 * @throws TypeError if the value is not a duration or is out of bounds
 */
export function parseDuration(name: string, value: unknown, bounds: { least?: number; most: number }): number {
  const { least = 1, most } = bounds
  const ms = typeof value === 'number' ? value : typeof value === 'string' ? parsed(value) : Number.NaN
  if (ms >= least && ms <= most) return ms
  const kind = least > 0 ? 'a positive number of milliseconds' : 'a number of milliseconds, 0 or more,'
  throw new TypeError(
    `Expected \`${name}\` to be ${kind} or a duration such as '5m'` +
      `${ms > most ? ` of at most ${most} ms` : ''}, got ${formatValue(value)}`,
  )
}

function parsed(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text)
  return match ? Number(match[1]) * (units[match[2] as string] as number) : Number.NaN
}

const longestShown = 60

/** A user's value for a TypeError: its short text and its type; of a URL, only the scheme. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'function') return 'a function'
  if (types.isPromise(value)) return 'a promise'
  if (types.isMap(value)) return 'a Map'
  if (types.isSet(value)) return 'a Set'
  if (typeof value === 'object') return isArray(value) ? 'an array' : 'an object'
  if (typeof value === 'string') return `${JSON.stringify(withoutCredentials(value).slice(0, longestShown))} (string)`
  // A bigint can have any number of digits.
  return `${String(value as number | bigint | boolean | symbol).slice(0, longestShown)} (${typeof value})`
}

// A URL given in place of a client must not put its password into a log.
function withoutCredentials(text: string): string {
  const end = text.indexOf('://')
  if (end !== -1) return `${text.slice(0, end)}://…`
  return text.includes('@') ? '…' : text
}

function isArray(value: object): boolean {
  try {
    return Array.isArray(value)
  } catch {
    return false // a proxy that was revoked
  }
}
