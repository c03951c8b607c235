import { once } from 'node:events'
import type { ChildProcess } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from '../../tools/until.mjs'
import { outcome } from './shared-process.ts'

/** What the pages say of the programs that serve a product: its page is made once, and anew after it has changed. */
export const asked = [
  '200 2400 cents (herdless; fwd=uri-miss; stored)',
  '200 2400 cents (herdless; hit)',
  '204',
  '200 1900 cents (herdless; fwd=uri-miss; stored)',
]

/** Asks a program that has been told to listen on this port, and then tells it to end. */
export async function serve(
  child: ChildProcess,
  port: number,
): Promise<{ answers: string[]; code: number | null; output: string }> {
  const ended = outcome(child)
  let hasEnded = false
  void ended.then(() => (hasEnded = true))
  const ask = async (method = 'GET'): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${port}/products/7`, { method })
    const status = answer.headers.get('cache-status')?.replace(/; ttl=.*/, '')
    const text = await answer.text()
    return [answer.status, text, status && method === 'GET' && `(${status})`].filter(Boolean).join(' ')
  }
  try {
    const first = await until('it answers', () => hasEnded || ask().catch(() => false), 60_000)
    const answers = first === true ? [] : [String(first)]
    // It is stored a moment after its own visitor has it.
    if (first !== true) {
      answers.push(
        await until('it is stored', async () => ((await ask()).endsWith('hit)') ? await ask() : false), 60_000),
      )
      answers.push(await ask('PUT'), await ask())
    }
    child.kill('SIGTERM')
    return { answers, ...(await ended) }
  } finally {
    child.kill('SIGKILL')
  }
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
