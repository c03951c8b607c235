import { trimmed } from './fields.ts'

/**
 * Cache directives by lower-case name, with the argument of each occurrence: `null` where it has none. An argument that
 * is not well-formed begins with a space, so that nothing takes it for a value.
 */
export type Directives = ReadonlyMap<string, readonly (string | null)[]>

/** RFC 9111 section 1.2.2: a number of seconds too large to count is this one. */
export const mostSeconds: number = 2 ** 31

const none: Directives = new Map()

/**
 * RFC 9111 section 5.2: the directives of a Cache-Control field. A member that is not well-formed is known by the token it
 * begins with: a cache had better heed a `no-store` with something odd behind it. Behind a quote without an end no
 * argument is well-formed.
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
 * The seconds that a directive tells; `null` where it is absent. `'invalid'` where its argument is no whole number of 0 or
 * more, or where it is there several times and tells several numbers (RFC 9111 section 4.2.1: such a response is stale).
 */
export function secondsOf(directives: Directives, name: string): number | null | 'invalid' {
  const found = directives.get(name)
  if (!found) return null
  const [first, ...others] = found.map(deltaSeconds)
  return first === undefined || first === null || others.some((other) => other !== first) ? 'invalid' : first
}

/** RFC 9111 section 1.2.2: digits only, and no more than 2³¹; `null` for anything else. */
export function deltaSeconds(text: string | null): number | null {
  return text !== null && /^\d+$/.test(text) ? Math.min(Number(text), mostSeconds) : null
}

/** Whether a directive that allows something is there, and well-formed: what allows is read strictly. */
export function allows(directives: Directives, name: string): boolean {
  const found = directives.get(name)
  return found !== undefined && found.every((argument) => argument === null)
}

interface Member {
  readonly argument: string | null
  /** A comma, or the end of the field. */
  readonly end: number
  /** Whether there is a quote without an end in it. */
  readonly isTorn: boolean
}

/** The rest of a member, from where its name ends. */
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

/** RFC 9110 section 5.6.4: a quoted string without its quotes and escapes; `null` where it does not end. */
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

// RFC 9110 section 5.6.2: visible US-ASCII but the delimiters.
function isTokenCharacter(code: number): boolean {
  return code > 0x20 && code < 0x7f && !delimiters.includes(String.fromCharCode(code))
}

const delimiters = '"(),/:;<=>?@[\\]{}'
