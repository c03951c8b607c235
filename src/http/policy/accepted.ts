import { isToken, membersOf, trimmed } from './fields.ts'

/** A member of an Accept-… field. */
interface Weighted {
  readonly value: string
  /** From 0 to 1 000: a quality in thousandths. */
  readonly weight: number
}

/**
 * RFC 9110 section 12.5.3: the codings that a request accepts, the same for each spelling of it: lower-case, x-gzip as
 * gzip, sorted by their quality and then by name. Of a quality only the rank is kept: a server compares them, and there are
 * not a thousand answers. What is not acceptable is left out where leaving it out says the same. A field that is not valid,
 * or names a coding twice, is as it came.
 */
export function acceptedEncodings(field: string): string {
  const members = weighted(field, isToken)
  if (members === null) return field
  const codings = members.map(({ value, weight }) => ({ value: withoutX(value.toLowerCase()), weight }))
  if (new Set(codings.map(({ value }) => value)).size !== codings.length) return field
  const accepted = codings.filter(({ weight }) => weight > 0)
  const acceptsAll = accepted.some(({ value }) => value === '*')
  // What is not named is not acceptable, but identity, which is unless it is excluded, and whatever `*` accepts.
  const refused = codings.filter(
    ({ value, weight }) => weight === 0 && (acceptsAll || value === 'identity' || value === '*'),
  )
  const weights = [...new Set(accepted.map(({ weight }) => weight))].sort((one, other) => other - one)
  const ranked = accepted.map(({ value, weight }) => ({ value, weight: 1_000 - weights.indexOf(weight) }))
  return [...ranked, ...refused].sort(byWeight).map(text).join(',')
}

/**
 * RFC 9110 section 12.5.4: the languages that a request accepts, the same for each spelling: lower-case, sorted by their
 * quality, which is kept. A field that is not valid is as it came.
 * @param order whether languages of one quality are in the order they came, or in that of the alphabet
 */
export function acceptedLanguages(field: string, order: 'kept' | 'ignored'): string {
  const members = weighted(field, isLanguageRange)
  if (members === null) return field
  const languages = members.map(({ value, weight }) => ({ value: value.toLowerCase(), weight }))
  // Sorting keeps the order of equals.
  const compare = order === 'kept' ? (one: Weighted, other: Weighted) => other.weight - one.weight : byWeight
  return languages.sort(compare).map(text).join(',')
}

/** The members of a field with their weights; `null` where one is not valid. */
function weighted(field: string, isValid: (value: string) => boolean): Weighted[] | null {
  const members: Weighted[] = []
  for (const member of membersOf(field)) {
    // RFC 9110 section 12.4.2: no more than three digits, 1 when it is not there.
    const [value = '', quality, ...others] = member.split(';').map(trimmed)
    const digits = quality === undefined ? '1' : /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i.exec(quality)?.[1]
    if (digits === undefined || others.length > 0 || !isValid(value)) return null
    members.push({ value, weight: Math.round(Number(digits) * 1_000) })
  }
  return members
}

/** RFC 4647 section 2.1. */
function isLanguageRange(value: string): boolean {
  return value === '*' || /^[a-z]{1,8}(?:-[a-z\d]{1,8})*$/i.test(value)
}

/** RFC 9110 section 8.4.1.3: a recipient should consider them the same. */
function withoutX(coding: string): string {
  return coding === 'x-gzip' ? 'gzip' : coding
}

function byWeight(one: Weighted, other: Weighted): number {
  return other.weight - one.weight || (one.value < other.value ? -1 : one.value > other.value ? 1 : 0)
}

function text({ value, weight }: Weighted): string {
  return weight === 1_000 ? value : `${value};q=${weight / 1_000}`
}
