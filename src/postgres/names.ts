import { createHash } from 'node:crypto'

/** The longest name that is kept as it is, in bytes: an index entry has to fit into a third of a page. */
const longest = 1_000

/** A name as it stands in the database: text has an end, and knows no NUL. */
export function nameInDatabase(name: string): string {
  const plain = Buffer.byteLength(name) <= longest && !name.includes('\0') && !name.startsWith('sha256:')
  return plain ? name : `sha256:${createHash('sha256').update(name).digest('base64url')}`
}
