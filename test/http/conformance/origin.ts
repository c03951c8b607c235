import { createRequire } from 'node:module'
import { devNull } from 'node:os'
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'

/** The suite's own server, which answers each request as the test that it belongs to wants it answered. */
export interface Origin extends AsyncDisposable {
  readonly host: string
  readonly port: number
}

/**
 * Starts one on a free port, in a thread of its own, since it keeps all that it was ever asked and cannot be closed.
 * @param heard is given what it prints: what a test that is dumped asks of it and is answered, and its warnings
 */
export async function startOrigin(heard: (line: string) => void = () => {}): Promise<Origin> {
  const thread = new Worker(createRequire(import.meta.url).resolve('http-cache-tests/server/server.mjs'), {
    // It is made for `npm run server`, and takes its settings from what npm would set.
    env: { npm_config_protocol: 'http', npm_config_port: '0', npm_config_pidfile: devNull },
    stdout: true,
  })
  const lines = createInterface({ input: thread.stdout })
  const port = await new Promise<number>((resolve, reject) => {
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('The origin ended before it said where it listens')))
    lines.on('line', (line) => {
      const listening = /^Listening on .*:(?<port>\d+)\/$/.exec(line)
      if (listening) resolve(Number(listening.groups?.['port']))
      else heard(line)
    })
  })
  return {
    host: '127.0.0.1',
    port,
    async [Symbol.asyncDispose]() {
      await thread.terminate()
    },
  }
}
