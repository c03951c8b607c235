import { membersOf, type FieldLine } from './fields.ts'
import { dateText } from './http-date.ts'

// RFC 9110 section 7.6.1 and RFC 9111 section 3.1: these fields concern a single connection or a single proxy.
const notStored: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * The lines of a header that are stored, in order and in their spelling (RFC 9111 section 3.1), without Set-Cookie.
 * Fields that Connection names are dropped, so every decision about a response must be made on its full header, before
 * this call.
 */
export function storedFields(lines: readonly FieldLine[]): FieldLine[] {
  const named = new Set<string>()
  for (const [name, value] of lines) {
    if (name.toLowerCase() !== 'connection') continue
    for (const member of membersOf(value)) named.add(member.toLowerCase())
  }
  return lines.filter(([spelling]) => {
    const name = spelling.toLowerCase()
    return !notStored.has(name) && !named.has(name) && name !== 'set-cookie'
  })
}

/**
 * Adds a Date to a header without one (RFC 9110 section 6.6.1).
 * @param receivedAt milliseconds since the epoch
 */
export function dated(lines: readonly FieldLine[], receivedAt: number): FieldLine[] {
  const isDated = lines.some(([name]) => name.toLowerCase() === 'date')
  return isDated ? [...lines] : [...lines, ['Date', dateText(receivedAt)]]
}
