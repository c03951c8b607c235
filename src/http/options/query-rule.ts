import type { IncomingMessage } from 'node:http'

/** Whether the parameter of this name is left out of the key. */
export type QueryRule = (name: string) => boolean

/** The options about the query, as functions of the request. */
export interface QueryPlan {
  readonly ignoreQuery?: (request: IncomingMessage) => true | readonly string[] | undefined
  readonly allowQuery?: (request: IncomingMessage) => readonly string[] | undefined
}

/**
 * A longer query is never shortened. Parsers read a limited number of parameters, 1000 by default, so an ignored
 * parameter may push another out of the handler's view.
 */
const mostParameters = 100

/**
 * Texts on which parsers disagree: unusual bytes, a fragment, which some parsers take for part of the query, and a
 * second question mark before a name.
 */
const odd = /[^!-~]|[\\#]|[?&]\?/

/** Makes the rule of the options `ignoreQuery` and `allowQuery`; `null` if every parameter is part of the key. */
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
 * Removes the ignored parameters from an address; the others stay as they were sent, in their order. A parameter that
 * two parsers could read differently stays. All parameters stay if two parsers could disagree about their boundaries.
 */
export function withoutIgnored(address: string, rule: QueryRule | null): string {
  const start = rule === null ? -1 : address.indexOf('?')
  // For some routers, a query begins at a semicolon.
  if (rule === null || start === -1 || odd.test(address) || address.lastIndexOf(';', start) !== -1) return address
  const parameters = address.slice(start + 1).split('&')
  if (parameters.length > mostParameters) return address
  const kept = parameters.filter((each) => {
    const name = parameterName(each)
    return name === null || !rule(name)
  })
  return kept.length === 0 ? address.slice(0, start) : `${address.slice(0, start)}?${kept.join('&')}`
}

/** The decoded name of a parameter; `null` if parsers disagree about it. */
function parameterName(parameter: string): string | null {
  const equals = parameter.indexOf('=')
  const bracket = parameter.replaceAll(/%5d/gi, '  ]').indexOf(']=')
  // Some parsers end a parameter at a semicolon; some take an equals sign before `]=` for part of the name.
  if (parameter.includes(';') || (bracket !== -1 && bracket > equals)) return null
  try {
    return decodeURIComponent(parameter.slice(0, equals === -1 ? undefined : equals).replaceAll('+', ' '))
  } catch {
    return null
  }
}

/** The top-level name for a parser that builds objects: `a` for `a[b]` and `a.b`; `null` if there is none. */
function outerName(name: string): string | null {
  const outer = /^[^[\].]+/.exec(name)
  return outer === null ? null : outer[0]
}
