import { longestLife, longestTimer, parseDuration, formatValue } from '../time/duration.ts'

/** Returns an option's value in its internal form; throws a TypeError that names the expected and the given value. */
export type Check = (name: string, value: unknown) => unknown

/**
 * The given options, before any of them is checked.
 * @throws TypeError unless they are an object
 */
export function checkObject<T extends object>(who: string, options: T): T {
  if (options !== null && typeof options === 'object') return options
  throw new TypeError(`Expected the options of ${who} to be an object, got ${formatValue(options)}`)
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
      throw new TypeError(
        `Unknown option \`${name.slice(0, 60)}\` of ${who}; expected one of ${Object.keys(checks).join(', ')}`,
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

/** An object with the given methods. */
export function shape(what: string, methods: readonly string[]): Check {
  return (name, value) => {
    if (typeof value === 'object' && value !== null) {
      if (methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function')) return value
    }
    throw new TypeError(`Expected \`${name}\` to be ${what}, got ${formatValue(value)}`)
  }
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
