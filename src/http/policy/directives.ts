import { trimmed } from './fields.ts'

/**
 * Cache directives by lower-case name, with the argument of each occurrence; `null` for an occurrence without one. A
 * malformed argument begins with a space, so no rule takes it for a value.
 */
export type Directives = ReadonlyMap<string, readonly (string | null)[]>

/** RFC 9111 section 1.2.2: the value of every number of seconds that is too large to represent. */
export const mostSeconds: number = 2 ** 31

const none: Directives = new Map()

/**
 * Parses the directives of a Cache-Control field (RFC 9111 section 5.2). A malformed member counts under the token that
 * it begins with: heeding a `no-store` with garbage behind it is the safe choice. After an unterminated quote every
 * argument counts as malformed.
 */
export function directivesOf(field: string | null): Directives {
  if (field === null || field === '') return none
  const directives = new Map<string, (string | null)[]>()
  let isTorn = false
  let at = 0
  while (at < field.length) {
    const start = skipBlanks(field, at)
    const nameEnd = skipToken(field, start)
    const member = argumentAt(field, nameEnd)
    at = member.end + 1
    isTorn ||= member.isTorn
    if (nameEnd === start) continue
    const name = field.slice(start, nameEnd).toLowerCase()
    const argument = isTorn ? ` ${member.argument ?? ''}` : member.argument
    const known = directives.get(name)
    if (known) known.push(argument)
    else directives.set(name, [argument])
  }
  return directives
}

/**
 * The seconds of a directive.
 * @returns `null` for an absent directive; `'invalid'` if an argument is not a whole number of 0 or more, or if several
 *   occurrences differ (RFC 9111 section 4.2.1: such a response counts as stale)
 */
export function secondsOf(directives: Directives, name: string): number | null | 'invalid' {
  const found = directives.get(name)
  if (!found) return null
  const [first, ...others] = found.map(deltaSeconds)
  return first === undefined || first === null || others.some((other) => other !== first) ? 'invalid' : first
}

/** Parses delta-seconds (RFC 9111 section 1.2.2): digits only, capped at 2³¹; `null` for any other text. */
export function deltaSeconds(text: string | null): number | null {
  return text !== null && /^\d+$/.test(text) ? Math.min(Number(text), mostSeconds) : null
}

/**
 * Whether a permissive directive is present and well-formed. Permissions are read strictly: a malformed one grants
 * nothing.
 */
export function allows(directives: Directives, name: string): boolean {
  const found = directives.get(name)
  return found !== undefined && found.every((argument) => argument === null)
}

interface Member {
  readonly argument: string | null
  /** The index of the comma after the member, or the length of the field. */
  readonly end: number
  /** Whether the member contains an unterminated quote. */
  readonly isTorn: boolean
}

/**
 * Parses the rest of a member.
 * @param from the index at which its name ends
 */
function argumentAt(field: string, from: number): Member {
  const isQuoted = field.startsWith('="', from)
  const value = isQuoted ? quotedAt(field, from + 1) : field[from] === '=' ? tokenAt(field, from + 1) : null
  const after = value?.end ?? from
  const comma = field.indexOf(',', after)
  const end = comma === -1 ? field.length : comma
  const isOdd = trimmed(field.slice(after, end)) !== ''
  if (isOdd) return { argument: ` ${field.slice(from, end)}`, end, isTorn: isQuoted && value === null }
  return { argument: value?.text ?? null, end, isTorn: false }
}

function tokenAt(field: string, start: number): { text: string; end: number } | null {
  const end = skipToken(field, start)
  return end === start ? null : { text: field.slice(start, end), end }
}

/**
 * Parses a quoted string (RFC 9110 section 5.6.4) and removes quotes and escapes; `null` if the string is unterminated.
 */
function quotedAt(field: string, quote: number): { text: string; end: number } | null {
  let text = ''
  for (let at = quote + 1; at < field.length; at++) {
    const character = field[at] as string
    if (character === '"') return { text, end: at + 1 }
    text += character === '\\' && at + 1 < field.length ? (field[++at] as string) : character
  }
  return null
}

function skipBlanks(field: string, from: number): number {
  let at = from
  while (field[at] === ' ' || field[at] === '\t') at++
  return at
}

function skipToken(field: string, from: number): number {
  let at = from
  while (at < field.length && isTokenCharacter(field.charCodeAt(at))) at++
  return at
}

// RFC 9110 section 5.6.2: visible US-ASCII except the delimiters.
function isTokenCharacter(code: number): boolean {
  return code > 0x20 && code < 0x7f && !delimiters.includes(String.fromCharCode(code))
}

const delimiters = '"(),/:;<=>?@[\\]{}'
