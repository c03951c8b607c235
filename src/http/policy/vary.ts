import { fieldOf, isToken, membersOf, trimmed, type Fields } from './fields.ts'
import { acceptedEncodings, acceptedLanguages } from './accepted.ts'

/** The lower-case names of the fields that select a response, without duplicates, sorted; `'*'` if anything may. */
export type Selecting = readonly string[] | '*'

/**
 * The fields that a response varies by (RFC 9110 section 12.5.5). A `*` among names counts as `*` alone. So does a
 * member that cannot be a field name, because its meaning is unknown.
 */
export function varyOf(fields: Fields): Selecting {
  const vary = fieldOf(fields, 'vary')
  if (vary === null) return []
  const names = membersOf(vary)
  if (names.some((name) => name === '*' || !isToken(name))) return '*'
  return [...new Set(names.map((name) => name.toLowerCase()))].sort()
}

/**
 * The values of the selecting fields of a request, as a text (RFC 9111 section 4.1). Two requests have the same text
 * only if one response may answer both. An absent field differs from an empty one. Several lines equal one line with
 * commas. White space around commas is ignored, except within quotes or parentheses and in fields that are not lists.
 * `acceptedEncodings` and `acceptedLanguages` define further equalities.
 * @param names lower-case
 */
export function selectedBy(names: readonly string[], fields: Fields): string {
  const said = names.map((name) => {
    const value = fieldOf(fields, name)
    if (value === null) return null
    const negotiated = normalizedField(name, value)
    if (negotiated !== null) return negotiated
    return notLists.has(name) ? value : withoutSpaces(value)
  })
  return JSON.stringify([names, said])
}

/**
 * The value of a field of which several spellings select one variant; `null` for other fields. A handler must see this
 * value, or it could tell the spellings apart: `/gzip/` matches `gzip;q=0, br`, which equals `br`.
 * @param name lower-case
 */
export function normalizedField(name: string, value: string): string | null {
  if (name === 'accept-encoding') return acceptedEncodings(value)
  return name === 'accept-language' ? acceptedLanguages(value) : null
}

// Fields in which a comma is, or may be, part of the value.
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
