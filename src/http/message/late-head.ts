import type { ServerResponse } from 'node:http'
import { streamOf } from './http2.ts'
import { Overrides } from './overrides.ts'
import type { FieldLine } from '../policy/fields.ts'

/** Fields that say for whom an answer is, or for how long. */
const telling = ['set-cookie', 'cache-control', 'cdn-cache-control', 'expires']

/** What is sent with a head. */
export interface MoreLines {
  readonly with: readonly FieldLine[]
  /** What is sent in place of that where what stands before the cache has set this field by then. */
  readonly late?: (name: string) => readonly FieldLine[]
}

/**
 * Sends a head with some more lines; where that throws, the response is as it was. Looks at the last moment whether what stands
 * before the cache has said more of the answer than it had when that was decided upon: it may wait until then (`on-headers`).
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

/** @param onChange told the name of a field that is another by then; may still set fields, unless the head is on its way */
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
  // By this a head goes out, when all others have had their say. It stays: to delete it would be dear.
  const stream = streamOf(response)
  const overrides = new Overrides(stream ?? response)
  const sent = overrides.method(stream === null ? '_storeHeader' : 'respond', (...args) => {
    look()
    return sent(args)
  })
  send()
  look()
}

function valuesIn(response: ServerResponse): unknown[] {
  return telling.map((name) => {
    const value = response.getHeader(name)
    return Array.isArray(value) ? value.join('\n') : value
  })
}
