import { fieldOf, isToken, membersOf, trimmed, type Fields } from './fields.ts'
import { acceptedEncodings, acceptedLanguages } from './accepted.ts'

/** The lower-case names of the fields that select a response, each once, sorted; `'*'` where anything may. */
export type Selecting = readonly string[] | '*'

/**
 * RFC 9110 section 12.5.5: what a response varies by. A `*` among names is one alone, and so is a member that cannot be the
 * name of a field: nobody knows what was meant.
 */
export function varyOf(fields: Fields): Selecting {
  const vary = fieldOf(fields, 'vary')
  if (vary === null) return []
  const names = membersOf(vary)
  if (names.some((name) => name === '*' || !isToken(name))) return '*'
  return [...new Set(names.map((name) => name.toLowerCase()))].sort()
}

/** How the fields that select are compared. */
export interface Comparison {
  /**
   * Whether "en, de" is "de, en". RFC 9110 section 12.5.4 gives the order of languages no meaning, but many handlers serve
   * the first one; that is the default.
   */
  readonly languageOrder?: 'kept' | 'ignored'
}

/**
 * RFC 9111 section 4.1: what a request says in the fields that select a response, as a text: two requests have the same
 * one only if they may be answered with the same response. A field that is absent differs from an empty one. These are
 * the same: several lines and one with commas; white space around commas, outside of what is quoted or in brackets and but
 * for fields that are no lists; and for Accept-Encoding and Accept-Language what stands above their functions.
 * @param names lower-case
 */
export function selectedBy(
  names: readonly string[],
  fields: Fields,
  { languageOrder = 'kept' }: Comparison = {},
): string {
  const said = names.map((name) => {
    const value = fieldOf(fields, name)
    if (value === null) return null
    if (name === 'accept-encoding') return acceptedEncodings(value)
    if (name === 'accept-language') return acceptedLanguages(value, languageOrder)
    return notLists.has(name) ? value : withoutSpaces(value)
  })
  return JSON.stringify([names, said])
}

// Where a comma is a part of the value, or may be.
const notLists: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'date',
  'from',
  'host',
  'if-modified-since',
  'if-range',
  'if-unmodified-since',
  'origin',
  'proxy-authorization',
  'referer',
  'user-agent',
])

function withoutSpaces(value: string): string {
  return /["(]/.test(value) ? value : value.split(',').map(trimmed).join(',')
}
