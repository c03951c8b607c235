import { createHash } from 'node:crypto'

/** The longest name that is kept as it is, in bytes: an index of a database takes about so much. */
const longest = 1_000

/** A name for a backend that takes no name of any length, nor a NUL in it: its hash where it must be. */
export function shortName(name: string): string {
  const plain = Buffer.byteLength(name) <= longest && !name.includes('\0') && !name.startsWith('sha256:')
  return plain ? name : `sha256:${createHash('sha256').update(name).digest('base64url')}`
}
