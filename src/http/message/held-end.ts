import type { ServerResponse } from 'node:http'
import { cutOff } from './http2.ts'
import { Overrides } from './overrides.ts'
import { isChunk } from './response-arguments.ts'

/** What the end of an answer waits for. */
interface Hold {
  /** Whether it waits; asked when the answer has a status. */
  readonly isHeld: () => boolean
  /** Called once. The answer is cut off if it rejects. */
  readonly until: () => Promise<void>
}

/**
 * Holds back the end of an answer, and the chunk by which its declared length is complete: with that, its client has all
 * of it.
 * @param overrides of the response
 */
export function holdEnd(overrides: Overrides, response: ServerResponse, { isHeld, until }: Hold): void {
  /** The calls that wait; `null` from then on. */
  let waiting: (() => unknown)[] | null = []
  const ended = new Overrides(response)
  const hold = (call: () => unknown): void => {
    if (waiting === null || waiting.push(call) > 1) return
    until()
      .then(() => {
        const calls = waiting ?? []
        waiting = null
        ended.undo()
        for (const each of calls) each()
      })
      .catch((error: unknown) => cutOff(response, error as Error))
  }
  let written = 0
  const write = overrides.method('write', (...args) => {
    if (waiting === null || !isChunk(args[0]) || !isHeld()) return write(args)
    const [chunk, encoding] = args as unknown as [string | Uint8Array, BufferEncoding?]
    written += typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.length
    const declared = response.getHeader('content-length')
    if (declared === undefined || written < Number(declared)) return write(args)
    hold(() => write(args))
    return true
  })
  const end = overrides.method('end', (...args) => {
    if (waiting === null || !isHeld()) return end(args)
    // To the handler the response has ended: frameworks end one that has not.
    const shown = { writableEnded: true, finished: true, write: () => false, end: () => response }
    for (const [name, value] of Object.entries(shown)) ended.value(name, value)
    hold(() => end(args))
    return response
  })
}
