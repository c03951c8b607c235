import type { OutgoingHttpHeaders } from 'node:http'
import type { Overrides } from '../message/overrides.ts'

/**
 * Fields that frameworks read themselves while they make an answer, and one that tells nothing. `Content-Type` is
 * compared on every hit.
 */
const ofFrameworks: ReadonlySet<string> = new Set(
  [
    'content-type content-length content-encoding transfer-encoding accept-ranges etag last-modified',
    'vary cache-control expires date connection x-powered-by',
  ]
    .join(' ')
    .split(' '),
)

/** Callbacks for the lines of earlier middleware; each is called with the name of a field. */
export interface LinesHeard {
  readonly onRead: (name: string) => void
  /** Called when the handler sets the field. */
  readonly onSet?: (name: string) => void
}

/**
 * Records what a handler does with the lines that earlier middleware has set on a response, or on the reply of Fastify:
 * `res.get('x-user')`, and `res.append()`, which reads the line that it extends.
 * @param overrides the replaced methods of the response
 * @param names the names of the fields with such lines, in lower case
 */
export function watchLines(overrides: Overrides, names: readonly string[], { onRead, onSet }: LinesHeard): void {
  const known = new Set(names)
  const watched = new Set(names.filter((name) => !ofFrameworks.has(name)))
  if (watched.size === 0) return
  const tell = (name: unknown): void => {
    const field = String(name).toLowerCase()
    if (watched.has(field)) onRead(field)
  }
  for (const method of ['getHeader', 'hasHeader', 'appendHeader']) {
    if (!overrides.has(method)) continue
    const before = overrides.method(method, (...args: readonly unknown[]) => {
      tell(args[0])
      return before(args)
    })
  }
  const getHeaders = overrides.method('getHeaders', () => {
    const all = { ...(getHeaders([]) as OutgoingHttpHeaders) }
    for (const name of Object.keys(all)) {
      const value = all[name]
      if (watched.has(name)) Object.defineProperty(all, name, { get: () => (onRead(name), value) })
    }
    return all
  })
  if (onSet === undefined) return
  const setHeader = overrides.method('setHeader', (...args: readonly unknown[]) => {
    const name = String(args[0]).toLowerCase()
    if (known.has(name)) onSet(name)
    return setHeader(args)
  })
}
