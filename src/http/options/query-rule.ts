import type { IncomingMessage } from 'node:http'

/** Whether a parameter is no part of the key, by its name. */
export type QueryRule = (name: string) => boolean

/** What the options say of the query. */
export interface QueryPlan {
  readonly ignoreQuery?: (request: IncomingMessage) => true | readonly string[] | undefined
  readonly allowQuery?: (request: IncomingMessage) => readonly string[] | undefined
}

/** Parsers of queries read a limited number of parameters, 1000 by default: what is left out must not make room for more. */
const mostParameters = 100

/**
 * Where parsers differ in what the query is: at odd bytes, at a fragment, which some take for a part of it, and at one more
 * question mark before a name.
 */
const odd = /[^!-~]|[\\#]|[?&]\?/

/** Which parameters are no part of the key; `null` for none. */
export function queryRule(
  ignore: true | readonly string[] | undefined,
  allow: readonly string[] | undefined,
): QueryRule | null {
  if (ignore === true) return () => true
  if (ignore !== undefined) return (name) => ignore.includes(name)
  if (allow === undefined) return null
  const outer = new Set(allow.map(outerName))
  return (name) => {
    const own = outerName(name)
    return own !== null && !outer.has(own)
  }
}

/**
 * An address without the parameters that a rule leaves out; the others as they were sent, in their order. A parameter that two
 * parsers could read differently stays, and so do all where two could differ in where a parameter begins.
 */
export function withoutIgnored(address: string, rule: QueryRule | null): string {
  const start = rule === null ? -1 : address.indexOf('?')
  if (rule === null || start === -1 || odd.test(address)) return address
  const parameters = address.slice(start + 1).split('&')
  if (parameters.length > mostParameters) return address
  const kept = parameters.filter((each) => {
    const name = parameterName(each)
    return name === null || !rule(name)
  })
  return kept.length === 0 ? address.slice(0, start) : `${address.slice(0, start)}?${kept.join('&')}`
}

/** `null` if that is not the same for all parsers. */
function parameterName(parameter: string): string | null {
  const equals = parameter.indexOf('=')
  const bracket = parameter.replaceAll(/%5d/gi, '  ]').indexOf(']=')
  // Some take a semicolon for the end of a parameter; some take an equals sign before `]=` for a part of the name.
  if (parameter.includes(';') || (bracket !== -1 && bracket > equals)) return null
  try {
    return decodeURIComponent(parameter.slice(0, equals === -1 ? undefined : equals).replaceAll('+', ' '))
  } catch {
    return null
  }
}

/** What a parser that knows objects takes for the name: `a` of `a[b]` and `a.b`; `null` where that is none. */
function outerName(name: string): string | null {
  const outer = /^[^[\].]+/.exec(name)
  return outer === null ? null : outer[0]
}
