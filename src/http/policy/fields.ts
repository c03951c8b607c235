/** Header fields by lower-case name, as Node.js provides them: several lines of one name are joined, or an array. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>

/** One line of a header: the name as it was spelled, and the value. */
export type FieldLine = readonly [name: string, value: string]

/**
 * The combined value of a field: its lines in order, joined by ", ", without surrounding white space (RFC 9110 section
 * 5.2).
 * @returns `null` for an absent field
 */
export function fieldOf(fields: Fields, name: string): string | null {
  if (!Object.hasOwn(fields, name)) return null
  const value = fields[name]
  if (value === undefined) return null
  return typeof value === 'string' ? trimmed(value) : value.map(trimmed).join(', ')
}

/** Turns the lines of a header into fields. The object has no prototype, so any name is safe. */
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

/** The non-empty members of a comma-separated list (RFC 9110 section 5.6.1) whose members are never quoted. */
export function membersOf(field: string): string[] {
  return field
    .split(',')
    .map(trimmed)
    .filter((member) => member !== '')
}

/** Whether a text is a token (RFC 9110 section 5.6.2), the grammar of the names of fields, methods and codings. */
export function isToken(text: string): boolean {
  return /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/.test(text)
}

/**
 * Strips spaces and tabs at both ends (RFC 9110 section 5.6.3). `String#trim` would also strip characters that belong
 * to a value.
 */
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
