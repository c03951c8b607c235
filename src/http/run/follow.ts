import type { IncomingMessage, ServerResponse } from 'node:http'
import { cacheStatusText, type CacheStatus } from '../message/cache-status.ts'
import type { HandlerRun } from './handler-run.ts'
import { cutOff } from '../message/http2.ts'
import { ageText } from '../policy/age.ts'
import { ClientBacklog } from '../answer/backlog.ts'
import { headLines, removeLines, sayHead, sayReason } from '../answer/serve.ts'
import { ageNow, type StoredHead } from '../stored/stored-response.ts'

/** Answers a request with the answer to another one while it grows. */
export function follow(
  response: ServerResponse<IncomingMessage>,
  handlerRun: HandlerRun,
  { head, status }: { readonly head: StoredHead; readonly status: CacheStatus },
): void {
  const ours = ['Age', ageText(ageNow(head)), 'Cache-Status', cacheStatusText(status)]
  const lines = head.lines.filter(([name]) => !['age', 'cache-status'].includes(name.toLowerCase()))
  sayReason(response, head.statusMessage)
  removeLines(response, head)
  sayHead(response, head.status, [...headLines(lines), ...ours])
  const backlog = new ClientBacklog(response)
  const follower = {
    isReady: true,
    write(chunk: Buffer) {
      follower.isReady = backlog.write(chunk.length, response.write(chunk))
      // The handler goes at the pace of the fastest client.
      if (backlog.isTooLong) cutOff(response)
    },
    end: () => void response.end(),
    cut: () => cutOff(response),
  }
  response.on('drain', () => {
    follower.isReady = true
    handlerRun.goOn()
  })
  response.once('close', () => handlerRun.unfollow(follower))
  handlerRun.follow(follower)
}
