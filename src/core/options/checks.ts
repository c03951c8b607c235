import { types } from 'node:util'
import type { NearPlan } from '../contract/store.ts'
import type { NegativeTtls, RefreshAhead } from '../entry/freshness.ts'
import { longestLife, longestTimer, parseDuration, formatValue } from '../time/duration.ts'
import { suggestion } from './suggestion.ts'

/** Returns an option's value in its internal form; throws a TypeError that names the expected and the given value. */
export type Check = (name: string, value: unknown) => unknown

/**
 * The given options, before any of them is checked.
 * @throws TypeError unless they are an object
 */
export function checkObject<T extends object>(who: string, options: T): T {
  if (options !== null && typeof options === 'object' && !isCollection(options)) return options
  throw new TypeError(`Expected the options of ${who} to be an object, got ${formatValue(options)}`)
}

/** Whether it is an array, a Map or a Set: an empty one, and any Map, would pass for options of which none is given. */
export function isCollection(value: object): boolean {
  return Array.isArray(value) || types.isMap(value) || types.isSet(value)
}

/**
 * The given options, checked.
 * @throws TypeError for an unknown option, because a typo would otherwise have no effect and no error
 */
export function checkOptions(who: string, options: object, checks: Record<string, Check>): object {
  const result: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(checkObject(who, options))) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    if (check === undefined) {
      const known = Object.keys(checks)
      const meant = suggestion(name, known)
      const hint = meant === null ? '' : ` (did you mean \`${meant}\`?)`
      throw new TypeError(
        `Unknown option \`${name.slice(0, 60)}\` of ${who}${hint}; expected one of ${known.join(', ')}`,
      )
    }
    if (value !== undefined) result[name] = check(name, value)
  }
  return result
}

/** A whole number from `least` to `most`. */
export function integer(least: number, most: number = Number.MAX_SAFE_INTEGER): Check {
  return (name, value) => {
    const isWhole = Number.isSafeInteger(value)
    if (isWhole && (value as number) >= least && (value as number) <= most) return value
    const bound = isWhole && (value as number) > most ? ` and at most ${most}` : ''
    throw new TypeError(
      `Expected \`${name}\` to be a whole number of at least ${least}${bound}, got ${formatValue(value)}`,
    )
  }
}

/** A number from 0 to 1. */
export function fraction(name: string, value: unknown): unknown {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value
  throw new TypeError(`Expected \`${name}\` to be a number from 0 to 1, got ${formatValue(value)}`)
}

/** A function. */
export function aFunction(name: string, value: unknown): unknown {
  if (typeof value === 'function') return value
  throw new TypeError(`Expected \`${name}\` to be a function, got ${formatValue(value)}`)
}

/** One of the given words. */
export function oneOf(...choices: readonly string[]): Check {
  return (name, value) => {
    if (choices.includes(value as string)) return value
    throw new TypeError(
      `Expected \`${name}\` to be ${choices.map((c) => `'${c}'`).join(' or ')}, got ${formatValue(value)}`,
    )
  }
}

/**
 * An object with the given methods.
 * @param hint the end of the message about another value
 */
export function shape(what: string, methods: readonly string[], hint: (value: unknown) => string = awaited): Check {
  return (name, value) => {
    if (typeof value === 'object' && value !== null) {
      if (methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function')) return value
    }
    throw new TypeError(`Expected \`${name}\` to be ${what}, got ${formatValue(value)}${hint(value)}`)
  }
}

/** What to write instead of a client in the place of a store, for the end of a message. */
export function wrapped(value: unknown): string {
  const { get, set, expire, publish } = Object(value) as Record<string, unknown>
  const isClient = [get, set, expire, publish].every((method) => typeof method === 'function')
  return isClient ? ', which looks like a client of Redis: write `store: redisStore(redis)`' : awaited(value)
}

/** What to do with a promise in place of an object, for the end of a message. */
export function awaited(value: unknown): string {
  return types.isPromise(value) ? ': await it first' : ''
}

/** The lifetime of a value, in milliseconds once checked. */
export function lifetime(least: number): Check {
  return (name, value) => parseDuration(name, value, { least, most: longestLife })
}

/** The delay of a timer, in milliseconds once checked. */
export function timeout(least: number): Check {
  return (name, value) => parseDuration(name, value, { least, most: longestTimer })
}

/** True or false. */
export function boolean(name: string, value: unknown): unknown {
  if (typeof value === 'boolean') return value
  throw new TypeError(`Expected \`${name}\` to be true or false, got ${formatValue(value)}`)
}

/** The bounds of histogram buckets, in seconds. */
export function ascending(name: string, value: unknown): unknown {
  const ascends = (bound: unknown, index: number, all: unknown[]): boolean =>
    typeof bound === 'number' && Number.isFinite(bound) && bound > Number(all[index - 1] ?? 0)
  if (Array.isArray(value) && value.length > 0 && value.every(ascends)) return value
  throw new TypeError(`Expected \`${name}\` to be seconds in ascending order, got ${formatValue(value)}`)
}

/** The ttls of what does not exist, in milliseconds once checked; a single one is that of `null`. */
export function checkedNegative(name: string, value: unknown): NegativeTtls {
  if (value === null || typeof value !== 'object') return { null: lifetime(1)(name, value) as number }
  return checkOptions(name, value, { null: lifetime(1), undefined: lifetime(1), error: lifetime(1) })
}

/** When a value is refreshed ahead; `false` is `null` once checked. */
export function checkedAhead(name: string, value: unknown): RefreshAhead | null {
  if (value === false) return null
  if (value === 'xfetch' || (typeof value === 'number' && value > 0 && value < 1)) return value
  throw new TypeError(
    `Expected \`${name}\` to be a number between 0 and 1, 'xfetch' or false, got ${formatValue(value)}`,
  )
}

/** The version of values, a text once checked. */
export function checkedVersion(name: string, value: unknown): string {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return String(value)
  if (typeof value === 'string' && /^[\w.-]{1,64}$/.test(value)) return value
  throw new TypeError(
    `Expected \`${name}\` to be a whole number or 1 to 64 letters, digits, '.', '_' and '-', got ${formatValue(value)}`,
  )
}

/** The separator of key prefixes. */
export function checkedSeparator(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= 10 && value.isWellFormed()) return value
  throw new TypeError(`Expected \`${name}\` to be a separator of 1 to 10 characters, got ${formatValue(value)}`)
}

/** A namespace. */
export function checkedNamespace(name: string, value: unknown): string {
  if (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= 200 &&
    value.isWellFormed() &&
    !/[{}\p{Cc}]/u.test(value)
  )
    return value
  throw new TypeError(
    `Expected \`${name}\` to be 1 to 200 characters without braces or control characters, got ${formatValue(value)}`,
  )
}

const nearDefaults: NearPlan = { max: 10_000, maxSize: 67_108_864, ttl: 10_000, values: 'frozen' }

/**
 * The plan of a near cache.
 * @throws TypeError for an unknown option or a wrong value
 */
export function checkedNear(name: string, value: unknown): NearPlan {
  const given: Partial<NearPlan> = checkOptions(`\`${name}\``, value as object, {
    max: integer(1, 16_777_216),
    maxSize: integer(1),
    ttl: lifetime(1),
    values: oneOf('frozen', 'cloned', 'shared'),
    foreign: boolean,
  })
  return { ...nearDefaults, ...given }
}

const checkSignal = shape('an AbortSignal', ['throwIfAborted', 'addEventListener', 'removeEventListener'])

/** The given signal; throws TypeError unless it is an AbortSignal. */
export function checkedSignal(name: string, value: unknown): AbortSignal {
  return checkSignal(name, value) as AbortSignal
}

/** The way from the value of an earlier version. */
export interface Migration {
  readonly from: string
  readonly migrate: (old: unknown) => unknown
}

/** The ways from earlier versions, in the order in which they are tried once checked: the last comes first. */
export function checkedMigrations(name: string, value: unknown): readonly Migration[] {
  const migrations = Object.entries(checkObject(`\`${name}\``, value as object)).map(([from, migrate]) => ({
    from: checkedVersion(`a version in ${name}`, from),
    migrate: aFunction(`${name}[${JSON.stringify(from)}]`, migrate) as Migration['migrate'],
  }))
  return migrations.toReversed()
}
