import type { ServerResponse } from 'node:http'
import { streamOf } from './http2.ts'
import { Overrides } from './overrides.ts'
import type { FieldLine } from '../policy/fields.ts'

/** Fields that restrict an answer to a client or a time. */
const telling = ['set-cookie', 'cache-control', 'cdn-cache-control', 'expires']

/** Lines that are added to a head. */
export interface MoreLines {
  readonly with: readonly FieldLine[]
  /**
   * Returns the lines to add instead, if earlier middleware has changed a field since the decision.
   * @param name the field that was changed
   */
  readonly late?: (name: string) => readonly FieldLine[]
}

/**
 * Sends a head with additional lines; if that throws, the response is unchanged. Middleware such as `on-headers`
 * changes the head while it is sent, after the decision to store:
 *
 * 1. Earlier middleware registers a listener with `on-headers` for the moment at which the head is sent.
 * 2. The handler answers. The decision is made on the head so far, which is storable, and the lines say `stored`.
 * 3. The head is sent. The listener of step 1 sets `Set-Cookie` for this client.
 * 4. `_storeHeader` (`respond` with HTTP/2) serializes the head. It is replaced here, sees the new field, and asks
 *    `late` for other lines.
 *
 * Without step 4 an answer for one client would be stored for all.
 */
export function sendHead(response: ServerResponse, { with: more, late }: MoreLines, send: () => void): void {
  const before = more.map(([name]) => [name, response.getHeader(name)] as const)
  const restore = (): void => {
    for (const [name, value] of before) {
      if (value === undefined) response.removeHeader(name)
      else response.setHeader(name, value)
    }
  }
  const add = (lines: readonly FieldLine[]): void => {
    for (const [name, value] of lines) response.appendHeader(name, value)
  }
  add(more)
  const onChange = (name: string): void => {
    const lines = late?.(name)
    if (lines === undefined || response.headersSent) return
    restore()
    add(lines)
  }
  try {
    sentWatching(response, send, onChange)
  } catch (error) {
    restore()
    throw error
  }
}

/**
 * Sends a head and looks for fields that changed meanwhile.
 * @param onChange called once with the name of a changed field; may set fields unless the head has been serialized
 */
function sentWatching(response: ServerResponse, send: () => void, onChange: (name: string) => void): void {
  const before = valuesIn(response)
  let isHeard = false
  const look = (): void => {
    if (isHeard) return
    const after = valuesIn(response)
    const changed = telling.find((_, index) => after[index] !== before[index])
    if (changed === undefined) return
    isHeard = true
    onChange(changed)
  }
  // The last method before a head is serialized, after every listener has run. The replacement is never removed: a
  // deleted property makes the object slow.
  const stream = streamOf(response)
  const overrides = new Overrides(stream ?? response)
  const sent = overrides.method(stream === null ? '_storeHeader' : 'respond', (...args) => {
    look()
    // A client of HTTP/2 may have gone away unnoticed, and then `respond` throws.
    return stream?.destroyed === true ? undefined : sent(args)
  })
  send()
  look()
}

/** The values of `telling`, read past the watched methods of the response: this is no read of the handler. */
function valuesIn(response: ServerResponse): unknown[] {
  const kind = Object.getPrototypeOf(response) as Pick<ServerResponse, 'getHeader'>
  return telling.map((name) => {
    const value = kind.getHeader.call(response, name)
    return Array.isArray(value) ? value.join('\n') : value
  })
}
