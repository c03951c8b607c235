import { isError, warnOfThrown } from '../errors.ts'
import { formatValue, type Duration } from '../time/duration.ts'
import { aFunction, boolean, checkOptions, integer, isCollection, timeout } from './checks.ts'

/** The limits of a source: what loads of it may do together, in the whole fleet. */
export interface SourceOptions {
  /** How many loads may run at a time. If processes say different numbers, the smallest counts. Default: any number. */
  readonly concurrency?: number | undefined
  /** How many loads may begin within any `per`. Default: any number. */
  readonly rate?: { readonly loads: number; readonly per: Duration } | undefined
  /** How many loads may wait in each process; a further one gets OVERLOADED, or a stale value. Default 1 000. */
  readonly maxQueued?: number | undefined
  /** How many keys of one `getOrLoadMany` may wait together, to be loaded by one call. Default 1 000. */
  readonly maxBatch?: number | undefined
  /**
   * Whether part of the loads is held back while most of them fail: their callers get a stale value, or OVERLOADED.
   * Default `true`.
   */
  readonly throttle?: boolean | undefined
  /**
   * Lets the source set `concurrency` by its refusals, between `least` and that: a second with one takes 30 % away, a
   * second without adds 1. `isRefusal` tells them: by default too many connections in PostgreSQL, timeouts, and HTTP 429
   * and 503. Default `false`.
   */
  readonly adaptive?:
    | boolean
    | { readonly least?: number | undefined; readonly isRefusal?: ((error: unknown) => boolean) | undefined }
    | undefined
}

/** `SourceOptions`, complete and checked. */
export interface SourcePlan {
  readonly concurrency: number | null
  readonly rate: { readonly loads: number; readonly per: number } | null
  readonly maxQueued: number
  readonly maxBatch: number
  readonly throttle: boolean
  readonly adaptive: { readonly least: number; readonly isRefusal: (error: unknown) => boolean } | null
}

const most = 100_000

const checks = {
  concurrency: integer(1, most),
  rate: checkedRate,
  maxQueued: integer(0),
  maxBatch: integer(1),
  throttle: boolean,
  adaptive: checkedAdaptive,
}

/** The name of a source: a well-formed text of up to 100 characters. */
export function checkedSource(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= 100 && value.isWellFormed()) return value
  throw new TypeError(
    `Expected \`${name}\` to be the name of a source, of 1 to 100 characters, got ${formatValue(value)}`,
  )
}

/** The sources of a cache, by name. */
export function checkedSources(name: string, value: unknown): ReadonlyMap<string, SourcePlan> {
  if (value === null || typeof value !== 'object' || isCollection(value)) {
    throw new TypeError(
      `Expected \`${name}\` to be an object with the limits of each source, got ${formatValue(value)}`,
    )
  }
  return new Map(Object.entries(value).map(([source, limits]) => [checkedSource(name, source), planOf(source, limits)]))
}

/** Throws TypeError unless a source is one of those that a cache has. */
export function checkKnownSource(source: string | null | undefined, sources: ReadonlyMap<string, SourcePlan>): void {
  if (source === undefined || source === null || sources.has(source)) return
  const known = sources.size === 0 ? 'the option `sources`, which has none' : [...sources.keys()].join(', ')
  throw new TypeError(`Expected \`source\` to be one of ${known}, got ${formatValue(source)}`)
}

/**
 * The limits of a source that two caches of a process name: both hold.
 * @throws TypeError if their rates are of two times, which one rate cannot say
 */
export function bothPlans(source: string, one: SourcePlan, other: SourcePlan): SourcePlan {
  const concurrency = Math.min(one.concurrency ?? most + 1, other.concurrency ?? most + 1)
  return {
    concurrency: concurrency > most ? null : concurrency,
    rate: bothRates(source, one.rate, other.rate),
    maxQueued: Math.min(one.maxQueued, other.maxQueued),
    maxBatch: Math.min(one.maxBatch, other.maxBatch),
    throttle: one.throttle && other.throttle,
    adaptive: bothAdaptive(one.adaptive, other.adaptive),
  }
}

function bothRates(source: string, one: SourcePlan['rate'], other: SourcePlan['rate']): SourcePlan['rate'] {
  if (one === null || other === null) return one ?? other
  if (one.per === other.per) return one.loads < other.loads ? one : other
  throw new TypeError(
    `Expected the \`rate\` of the source ${formatValue(source)} to have the \`per\` of the other caches on its store, ${one.per}, got ${other.per}`,
  )
}

function bothAdaptive(one: SourcePlan['adaptive'], other: SourcePlan['adaptive']): SourcePlan['adaptive'] {
  if (one === null || other === null) return one ?? other
  return {
    least: Math.min(one.least, other.least),
    isRefusal: (error) => one.isRefusal(error) || other.isRefusal(error),
  }
}

function planOf(source: string, limits: unknown): SourcePlan {
  const given: Partial<SourcePlan> = checkOptions(`sources.${source}`, limits as object, checks)
  const { concurrency = null, rate = null, adaptive = null } = given
  if (concurrency === null && rate === null) {
    throw new TypeError(
      `Expected the source ${formatValue(source)} to have a \`concurrency\` or a \`rate\`, got neither`,
    )
  }
  if (adaptive !== null && concurrency === null) {
    throw new TypeError(
      `Expected \`concurrency\` beside \`adaptive\`, as the most, got none for ${formatValue(source)}`,
    )
  }
  if (adaptive !== null && concurrency !== null && adaptive.least > concurrency) {
    throw new TypeError(
      `Expected the \`least\` of \`adaptive\` to be at most the \`concurrency\` of ${formatValue(source)}, ${concurrency}, got ${adaptive.least}`,
    )
  }
  return { maxQueued: 1_000, maxBatch: 1_000, throttle: true, ...given, concurrency, rate, adaptive }
}

function checkedRate(name: string, value: unknown): SourcePlan['rate'] {
  const { loads, per }: { loads?: number; per?: number } = checkOptions(name, value as object, {
    loads: integer(1, most),
    per: timeout(1),
  })
  if (loads !== undefined && per !== undefined) return { loads, per }
  throw new TypeError(`Expected \`${name}\` to have \`loads\` and \`per\`, got ${formatValue(value)}`)
}

function checkedAdaptive(name: string, value: unknown): SourcePlan['adaptive'] {
  if (value === false) return null
  const given = value === true ? {} : (value as object)
  const { least = 1, isRefusal = refusesLoad }: Partial<NonNullable<SourcePlan['adaptive']>> = checkOptions(
    name,
    given,
    {
      least: integer(1, most),
      isRefusal: aFunction,
    },
  )
  return { least, isRefusal: noRefusalIfThrown(isRefusal) }
}

/** The same function, made to return `false` where it throws: the load that asks must end. */
function noRefusalIfThrown(isRefusal: (error: unknown) => boolean): (error: unknown) => boolean {
  return (error) => {
    try {
      return isRefusal(error)
    } catch (thrown) {
      warnOfThrown('The option `isRefusal`', thrown)
      return false
    }
  }
}

/** Whether a source refuses because it has too much to do: too many connections in PostgreSQL, HTTP 429 and 503. */
function refusesLoad(error: unknown): boolean {
  if (!isError(error)) return false
  const { code, status, statusCode, response } = error as {
    readonly code?: unknown
    readonly status?: unknown
    readonly statusCode?: unknown
    readonly response?: { readonly status?: unknown }
  }
  if (code === '53300' || code === 'LOAD_TIMEOUT' || code === 'ETIMEDOUT') return true
  return [status, statusCode, response?.status].some((said) => said === 429 || said === 503)
}
