/** Header fields by their lower-case names, as Node.js gives them: several lines of one name are joined, or an array. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>

/** One line of a header: its name, spelled as it came, and its value. */
export type FieldLine = readonly [name: string, value: string]

/**
 * The value of a field, its lines joined by ", ", without the white space around it; `null` where there is no such field.
 * RFC 9110 section 5.2: the value of a field is that of all its lines, in order.
 */
export function fieldOf(fields: Fields, name: string): string | null {
  if (!Object.hasOwn(fields, name)) return null
  const value = fields[name]
  if (value === undefined) return null
  return typeof value === 'string' ? trimmed(value) : value.map(trimmed).join(', ')
}

/** The lines of a header as fields; the object has no prototype, so any name is safe. */
export function fieldsOf(lines: readonly FieldLine[]): Fields {
  const fields = Object.create(null) as Record<string, string | string[]>
  for (const [spelling, value] of lines) {
    const name = spelling.toLowerCase()
    const known = fields[name]
    if (known === undefined) fields[name] = value
    else if (typeof known === 'string') fields[name] = [known, value]
    else known.push(value)
  }
  return fields
}

/** The members of a comma-separated list without empty ones (RFC 9110 section 5.6.1), where no member is quoted. */
export function membersOf(field: string): string[] {
  return field
    .split(',')
    .map(trimmed)
    .filter((member) => member !== '')
}

/** Whether it is a token (RFC 9110 section 5.6.2), as the names of fields, methods and codings are. */
export function isToken(text: string): boolean {
  return /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/.test(text)
}

/** Without spaces and tabs at its ends (RFC 9110 section 5.6.3); `trim` takes more, that are part of a value. */
export function trimmed(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return end - start === text.length ? text : text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
