import { isToken, membersOf, trimmed } from './fields.ts'

/** A member of an Accept-Encoding or Accept-Language field. */
interface Weighted {
  readonly value: string
  /** A quality in thousandths, from 0 to 1 000. */
  readonly weight: number
}

/**
 * Normalizes Accept-Encoding (RFC 9110 section 12.5.3), so that equivalent spellings select one variant: lower-case,
 * x-gzip as gzip, sorted by quality and then by name. Qualities are reduced to ranks, because servers only compare them
 * and an address must not have a thousand variants. A refused coding is dropped if its absence means the same. An
 * invalid field, or one that names a coding twice, is returned unchanged.
 */
export function acceptedEncodings(field: string): string {
  const members = weighted(field, isToken)
  if (members === null) return field
  const codings = members.map(({ value, weight }) => ({ value: withoutX(value.toLowerCase()), weight }))
  if (new Set(codings.map(({ value }) => value)).size !== codings.length) return field
  const accepted = codings.filter(({ weight }) => weight > 0)
  const acceptsAll = accepted.some(({ value }) => value === '*')
  // An unlisted coding is refused unless `*` accepts it; identity alone is accepted unless it is excluded.
  const refused = codings.filter(
    ({ value, weight }) => weight === 0 && (acceptsAll || value === 'identity' || value === '*'),
  )
  const weights = [...new Set(accepted.map(({ weight }) => weight))].sort((one, other) => other - one)
  const ranked = accepted.map(({ value, weight }) => ({ value, weight: 1_000 - weights.indexOf(weight) }))
  return [...ranked, ...refused].sort(byWeight).map(text).join(',')
}

/**
 * Normalizes Accept-Language (RFC 9110 section 12.5.4): in the usual case (RFC 5646 section 2.1.1), sorted by quality.
 * Qualities are kept, and so is the order of languages of one quality: the RFC gives it no meaning, but many handlers
 * serve the first one. An invalid field is returned unchanged.
 */
export function acceptedLanguages(field: string): string {
  const members = weighted(field, isLanguageRange)
  if (members === null) return field
  const languages = members.map(({ value, weight }) => ({ value: inUsualCase(value), weight }))
  // Array sorting is stable: it keeps the order of equals.
  return languages
    .sort((one, other) => other.weight - one.weight)
    .map(text)
    .join(',')
}

/** The members of a field with their weights; `null` if a member is invalid. */
function weighted(field: string, isValid: (value: string) => boolean): Weighted[] | null {
  const members: Weighted[] = []
  for (const member of membersOf(field)) {
    // RFC 9110 section 12.4.2: at most three decimals; an absent quality is 1.
    const [value = '', quality, ...others] = member.split(';').map(trimmed)
    const digits = quality === undefined ? '1' : /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i.exec(quality)?.[1]
    if (digits === undefined || others.length > 0 || !isValid(value)) return null
    members.push({ value, weight: Math.round(Number(digits) * 1_000) })
  }
  return members
}

/** Whether a text is a basic language range (RFC 4647 section 2.1). */
function isLanguageRange(value: string): boolean {
  return value === '*' || /^[a-z]{1,8}(?:-[a-z\d]{1,8})*$/i.test(value)
}

/** A language range in the case that browsers send: `zh-Hant-TW`. Handlers may compare it with such names. */
function inUsualCase(range: string): string {
  const [language = '', ...others] = range.toLowerCase().split('-')
  const isSingleton = (index: number): boolean => others.slice(0, index).some((each) => each.length === 1)
  const cased = others.map((each, index) => {
    if (isSingleton(index)) return each
    if (each.length === 2) return each.toUpperCase()
    return /^[a-z]{4}$/.test(each) ? each.charAt(0).toUpperCase() + each.slice(1) : each
  })
  return [language, ...cased].join('-')
}

/** RFC 9110 section 8.4.1.3: a recipient should treat x-gzip as gzip. */
function withoutX(coding: string): string {
  return coding === 'x-gzip' ? 'gzip' : coding
}

function byWeight(one: Weighted, other: Weighted): number {
  return other.weight - one.weight || (one.value < other.value ? -1 : one.value > other.value ? 1 : 0)
}

function text({ value, weight }: Weighted): string {
  return weight === 1_000 ? value : `${value};q=${weight / 1_000}`
}
