import type { IncomingMessage, ServerResponse } from 'node:http'
import { cacheStatusText, type CacheStatus } from './cache-status.ts'
import type { Fill } from './fill.ts'
import { cutOff } from './http2.ts'
import { ageText } from './policy/age.ts'
import type { Selection } from './selection.ts'
import { sayHead, sayReason } from './serve.ts'
import { ageNow, type StoredHead } from './stored-response.ts'

/** How much of an answer may wait for a client that is slower than the handler, in bytes; it is then cut off. */
const mostWaiting = 16_777_216

/** Answers a request with what the handler answers to another, as it grows. @param selection of the request */
export function follow(
  response: ServerResponse<IncomingMessage>,
  selection: Selection,
  fill: Fill,
  { head, status }: { readonly head: StoredHead; readonly status: CacheStatus },
): void {
  const ours = ['Age', ageText(ageNow(head)), 'Cache-Status', cacheStatusText(status)]
  const lines = head.lines.filter(([name]) => !['age', 'cache-status'].includes(name.toLowerCase()))
  sayReason(response, head.statusMessage)
  sayHead(response, head.status, [...lines.flat(), ...ours])
  const follower = {
    write(chunk: Buffer) {
      response.write(chunk)
      // The handler goes at the pace of its own client.
      if (response.writableLength > mostWaiting) cutOff(response)
    },
    end: () => void response.end(),
    cut: () => cutOff(response),
  }
  fill.follow(follower, selection)
}
