import fc from 'fast-check'
import { parseDuration } from '../../../src/core/time/duration.ts'

const units = [
  ['ms', 1n],
  ['s', 1_000n],
  ['m', 60_000n],
  ['h', 3_600_000n],
  ['d', 86_400_000n],
] as const

const longestLife = 36_525 * 86_400_000
const longestTimer = 2 ** 31 - 1

/** The bounds of the durations that there are. */
export const bounds = [
  { least: 1, most: longestLife },
  { least: 0, most: longestLife },
  { least: 1, most: longestTimer },
  { least: 0, most: longestTimer },
  { least: 30, most: longestTimer },
] as const

/** Milliseconds of a duration, worked out in whole numbers and without a regular expression; `null` for what is none. */
export function worth(given: unknown): number | null {
  if (typeof given === 'number') return Number.isNaN(given) ? null : given
  if (typeof given !== 'string') return null
  const [unit, factor] = units.find(([name]) => given.endsWith(name)) ?? []
  if (unit === undefined) return null
  const [whole = '', fraction, ...more] = given.slice(0, -unit.length).split('.')
  const digits = fraction === undefined ? [whole] : [whole, fraction]
  const isNumber =
    more.length === 0 && digits.every((part) => part !== '' && part.split('').every((d) => d >= '0' && d <= '9'))
  if (!isNumber) return null
  const scale = 10n ** BigInt(fraction?.length ?? 0)
  const exact = BigInt(whole + (fraction ?? '')) * factor
  return Number(exact / scale) + Number(((exact % scale) * 10n ** 9n) / scale) / 1e9
}

/** Whether a duration is so near to a bound that the last bit of a double decides. */
export function isOnEdge(ms: number, { least, most }: { least: number; most: number }): boolean {
  return [least, most].some((bound) => ms !== bound && Math.abs(ms - bound) <= 1e-9 * Math.max(1, bound))
}

const digits = fc.oneof(
  { arbitrary: fc.nat(100_000).map(String), weight: 6 },
  fc.constantFrom(...'0 00 007 36525 36524 36526 2147483647 2147483648 3155760000000'.split(' '), '9'.repeat(400)),
  fc.bigInt({ min: 0n, max: 10n ** 20n }).map(String),
)
const fraction = fc.oneof(
  { arbitrary: fc.constant(''), weight: 4 },
  digits.map((text) => `.${text}`),
  fc.constantFrom('.', '.0', '.5', '.000000000000000000001', `.${'0'.repeat(400)}1`, '.5.5', 'e3', ',5', '_000'),
)
const sign = fc.oneof({ arbitrary: fc.constant(''), weight: 8 }, fc.constantFrom('-', '+', ' ', '\n', '0x', '٣', '.'))
const unit = fc.oneof(
  { arbitrary: fc.constantFrom('ms', 's', 'm', 'h', 'd'), weight: 6 },
  fc.constantFrom(
    '',
    ' ms',
    'MS',
    'S',
    'min',
    'sec',
    'mss',
    'sm',
    'w',
    'y',
    'us',
    'd ',
    's\n',
    'ｍ',
    '\u{1d5ba}',
    'ms\0',
  ),
)

const special: unknown[] = [
  [0, -0, 1, 29, 30, 0.999_999, longestTimer, longestTimer + 1, longestTimer + 0.5, longestLife, longestLife + 1],
  [2 ** 53, -(2 ** 53), Number.MAX_VALUE, Number.MIN_VALUE, Infinity, -Infinity, Number.NaN, 5n, true, null],
].flat()

/** What may stand where a duration is expected, most of it not far from one. */
export const durations: fc.Arbitrary<unknown> = fc.oneof(
  { arbitrary: fc.tuple(sign, digits, fraction, unit).map((parts) => parts.join('')), weight: 5 },
  { arbitrary: fc.double(), weight: 2 },
  fc.integer({ min: -10, max: 100 }),
  fc.constantFrom(...special),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.anything(),
)

/** What is wrong with how the library takes a duration; `null` for nothing. */
export function wronglyTaken(given: unknown, within: { least: number; most: number }): unknown {
  const ms = worth(given)
  if (ms !== null && isOnEdge(ms, within)) return null
  const isOne = ms !== null && ms >= within.least && ms <= within.most
  try {
    const told = parseDuration('ttl', given, within)
    return isOne && Math.abs(told - ms) <= 1e-9 + 1e-12 * ms ? null : { told, ms }
  } catch (error) {
    if (!(error instanceof TypeError) || isOne) return error
    return error.message.startsWith('Expected `ttl` to be ') && error.message.length < 400 ? null : error
  }
}
