import type { Check } from '../../core/options/checks.ts'
import { ignoreRejection } from '../../core/errors.ts'
import { formatValue } from '../../core/time/duration.ts'
import { statusRule } from '../policy/lifetime.ts'

/**
 * Makes a check accept a function of the request, too: a value is checked once, the result of a function on each call.
 */
export function perRequest(check: Check): Check {
  return (name, value) => {
    if (typeof value !== 'function') {
      const same = check(name, value)
      return () => same
    }
    return (request: unknown) => {
      const result: unknown = value(request)
      return result === undefined ? undefined : check(`${name}(request)`, result)
    }
  }
}

/** A function of the request. */
export function aFunction(name: string, value: unknown): unknown {
  if (typeof value === 'function') return value
  throw new TypeError(`Expected \`${name}\` to be a function of the request, got ${formatValue(value)}`)
}

/** A function that returns something true or not; a promise is always true, and thus refused on each call. */
export function aCondition(name: string, value: unknown): unknown {
  const holds = aFunction(name, value) as (request: unknown) => unknown
  return (request: unknown) => {
    const result = holds(request)
    if (!(result instanceof Promise)) return result
    ignoreRejection(result)
    throw new TypeError(`Expected \`${name}(request)\` to be true or false, got ${formatValue(result)}`)
  }
}

/** A function that returns a string; its result is checked on each call. */
export function aKey(name: string, value: unknown): unknown {
  const keyOf = aFunction(name, value) as (request: unknown) => unknown
  return (request: unknown) => {
    const key = keyOf(request)
    if (typeof key === 'string') return key
    throw new TypeError(`Expected \`${name}(request)\` to be a string, got ${formatValue(key)}`)
  }
}

/**
 * A function that returns the owner of a response as a string, a number or a bigint; `null` or `undefined` for all
 * clients.
 */
export function aUser(name: string, value: unknown): unknown {
  const userOf = aFunction(name, value) as (asker: unknown) => unknown
  return (asker: unknown) => {
    const user = userOf(asker)
    if (user === null || user === undefined) return null
    if (typeof user === 'string') return user
    if (typeof user === 'bigint' || (typeof user === 'number' && Number.isFinite(user))) return String(user)
    throw new TypeError(`Expected \`${name}(request)\` to be a string, a number or null, got ${formatValue(user)}`)
  }
}

/** An array of strings. */
export function strings(name: string, value: unknown): unknown {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
  throw new TypeError(`Expected \`${name}\` to be an array of strings, got ${formatValue(value)}`)
}

/** Names of request fields; the result is in lower case. */
export function fieldNames(name: string, value: unknown): unknown {
  const names = strings(name, value) as readonly string[]
  const odd = names.find((each) => each === '*' || !/^[!#$%&'*+.^_`|~\dA-Za-z-]+$/.test(each))
  if (odd === undefined) return names.map((each) => each.toLowerCase())
  throw new TypeError(`Expected \`${name}\` to be names of header fields, got ${formatValue(odd)}`)
}

/** A non-empty subset of the choices. */
export function someOf(...choices: readonly string[]): Check {
  return (name, value) => {
    const some = strings(name, value) as readonly string[]
    if (some.length > 0 && some.every((each) => choices.includes(each))) return some
    throw new TypeError(`Expected \`${name}\` to be some of ${choices.join(', ')}, got ${formatValue(value)}`)
  }
}

/** The statuses that are stored; the result is a function from a status to its `StatusRule`. */
export function checkedStatuses(name: string, value: unknown): unknown {
  if (value === 'standard') return statusRule
  const isStatus = (each: unknown): boolean =>
    Number.isInteger(each) && Number(each) >= 200 && Number(each) <= 599 && each !== 206 && each !== 304
  if (Array.isArray(value) && value.every(isStatus)) {
    const statuses = new Set(value)
    return (status: number) => (statuses.has(status) ? 'always' : 'never')
  }
  throw new TypeError(
    `Expected \`${name}\` to be 'standard' or an array of statuses from 200 to 599 without 206 and 304, got ${formatValue(value)}`,
  )
}
