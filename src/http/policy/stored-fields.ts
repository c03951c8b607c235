import { membersOf, type FieldLine } from './fields.ts'
import { dateText } from './http-date.ts'

// RFC 9110 section 7.6.1 and RFC 9111 section 3.1: they concern one connection, or one proxy.
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
 * RFC 9111 section 3.1: the lines that are stored, in order and as they are spelled. Those that Connection names are not,
 * so whatever decides about a response is given it with all its fields.
 * @param setCookie what becomes of Set-Cookie
 */
export function storedFields(
  lines: readonly FieldLine[],
  { setCookie }: { readonly setCookie: 'keep' | 'drop' },
): FieldLine[] {
  const named = new Set<string>()
  for (const [name, value] of lines) {
    if (name.toLowerCase() !== 'connection') continue
    for (const member of membersOf(value)) named.add(member.toLowerCase())
  }
  return lines.filter(([spelling]) => {
    const name = spelling.toLowerCase()
    return !notStored.has(name) && !named.has(name) && (setCookie === 'keep' || name !== 'set-cookie')
  })
}

/** RFC 9110 section 6.6.1: with the Date of when it came, where it has none. @param receivedAt ms since the epoch */
export function dated(lines: readonly FieldLine[], receivedAt: number): FieldLine[] {
  const isDated = lines.some(([name]) => name.toLowerCase() === 'date')
  return isDated ? [...lines] : [...lines, ['Date', dateText(receivedAt)]]
}
