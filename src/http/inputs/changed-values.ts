import { isPlainObject } from './surroundings.ts'

/** The texts among some values, for `Surroundings.changed`; usually none. */
export function textsAmong(...values: readonly (string | null)[]): readonly string[] {
  for (const value of values) if (value !== null) return values.filter((each) => each !== null)
  return none
}

const none: readonly string[] = []

/**
 * The parameters of a path, if earlier middleware has changed one (`req.params.id = req.user.id` at /users/me); `null` if
 * all are what the URL says, each as whole segments and in their order. They are compared, because every handler reads
 * them.
 * @param name the name that handlers have for the parameters
 * @param pattern the path of the route, if it is known
 */
export function changedParams(name: string, params: unknown, url = '', pattern?: unknown): string | null {
  const isNamed = typeof pattern === 'string' && pattern.includes(':')
  if (!isNamed && isEmpty(params)) return null
  const path = `${pathOf(url)}/`
  if (isNamed && differs(params, path, pattern)) return `${name} ${textOfValue(params)}`
  let from = 0
  for (const value of Object.values(params ?? {}) as unknown[]) {
    // A wildcard of Express 5 is a list of segments.
    const segments = Array.isArray(value) ? value.join('/') : value
    if (segments === undefined || segments === '') continue
    const at = typeof segments === 'string' ? path.indexOf(`/${segments}/`, from) : -1
    if (at === -1) return `${name} ${textOfValue(params)}`
    from = at + (segments as string).length
  }
  return null
}

/**
 * Whether a parameter is not the segment of the path that the pattern names, or is missing. The pattern is of the last
 * segments, because routers keep the path at which they are mounted to themselves.
 */
function differs(params: unknown, path: string, pattern: string): boolean {
  const segments = path.split('/').filter((each) => each !== '')
  const wanted = pattern.split('/').filter((each) => each !== '')
  const from = segments.length - wanted.length
  const values = (params ?? {}) as Readonly<Record<string, unknown>>
  return wanted.some((each, index) => /^:\w+$/.test(each) && values[each.slice(1)] !== segments[from + index])
}

/**
 * The parameters of a query that are not what the URL says; `null` without any.
 * @param name the name that handlers have for the query
 */
export function changedQuery(name: string, query: unknown, url = ''): string | null {
  const start = url.indexOf('?')
  if (isEmpty(query) && start < 0) return null
  const said = new URLSearchParams(start < 0 ? '' : url.slice(start))
  const values = (query ?? {}) as Readonly<Record<string, unknown>>
  const changed = Object.keys(values).filter((each) => !isSaid(said.getAll(each), values[each]))
  const removed = [...said.keys()].filter((each) => !(each in values))
  if (changed.length === 0 && removed.length === 0) return null
  return `${name} ${textOfValue([changed.map((each) => [each, values[each]]), removed])}`
}

function pathOf(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1)
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function isSaid(said: readonly string[], value: unknown): boolean {
  if (Array.isArray(value)) return value.length === said.length && value.every((each, index) => each === said[index])
  return value === said.at(-1) || value === said[0]
}

function isEmpty(object: unknown): boolean {
  if (typeof object !== 'object' || object === null) return true
  for (const _ in object) return false
  return true
}

/** Stands for values that JSON cannot hold, such as a circle, and that cannot be compared. */
export const unknown = 'unknown'

/** Whether requests with this text of changed values have equal values. */
export function isComparable(text: string): boolean {
  return !text.endsWith(` ${unknown}`)
}

/** Equal texts mean equal values, but for `unknown`. */
function textOfValue(value: unknown): string {
  try {
    return JSON.stringify(value, function (this: Record<string, unknown>, name, each: unknown) {
      const original = this[name]
      // Such an object may hold more than it shows.
      if (typeof original === 'object' && original !== null && !isShown(original)) throw new TypeError('not shown')
      return typeof each === 'bigint' || typeof each === 'function' || typeof each === 'symbol' ? String(each) : each
    })
  } catch {
    return unknown
  }
}

function isShown(object: object): boolean {
  return Array.isArray(object) || object instanceof Date || isPlainObject(object)
}
