import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { guardianOfThisProcess, type GuardedProcess } from '../../tools/servers/guarded-process.mjs'
import { until } from '../../tools/until.mjs'
import { apps } from './given-package.ts'

export interface Answer {
  readonly status: number
  readonly body: unknown
}

export interface HostedAnswer {
  readonly status: number
  readonly body: string
  readonly headers: IncomingMessage['headers']
}

const listening = /listen(?:s|ing) on (?:http:\/\/127\.0\.0\.1:)?(\d+)\n/i

/** One process of an app, which says on which port it listens. */
export class AppProcess {
  readonly port: number
  readonly #process: GuardedProcess
  #ended = false

  private constructor(process: GuardedProcess, port: number) {
    this.#process = process
    this.port = port
    void process.ended.then(() => (this.#ended = true))
  }

  /**
   * @param script below the folder of the apps
   * @param node the Node.js that runs it
   */
  static async start(script: string, env: Record<string, string>, node = process.execPath): Promise<AppProcess> {
    const guardian = guardianOfThisProcess()
    const folder = await guardian.newFolder()
    const running = await guardian.start(node, [join(apps, script)], { folder, env })
    let ended = false
    void running.ended.then(() => (ended = true))
    const log = async (): Promise<string> => readFile(join(folder, 'log'), 'utf8')
    const port = await until(
      `${script} listens`,
      async () => {
        const [, text] = listening.exec(await log()) ?? []
        return text !== undefined || ended ? (text ?? 'none') : undefined
      },
      30_000,
    )
    if (port === 'none') throw new Error(`${script} has ended:\n${await log()}`)
    return new AppProcess(running, Number(port))
  }

  async ask(path: string, method = 'GET'): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { method })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    return { status: response.status, body: isJson ? JSON.parse(text) : text }
  }

  /** The status, the text and the fields of an answer, of one host for all processes, as behind a proxy. */
  async answer(path: string, fields: Record<string, string> = {}): Promise<HostedAnswer> {
    const headers = { host: 'shop', ...fields }
    const asked = get({ host: '127.0.0.1', port: this.port, path, headers, agent: false })
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    return { status: response.statusCode ?? 0, body: await text(response), headers: response.headers }
  }

  /** The counters of its cache. */
  async stats(): Promise<{ misses: number; loads: number; waits: number }> {
    return (await this.ask('/stats')).body as { misses: number; loads: number; waits: number }
  }

  /** Asks it to end, as Kubernetes and systemd do. */
  terminate(): void {
    this.#process.signal('SIGTERM')
  }

  /** Resolves when it has ended by itself; what it has said but for its port. */
  async ended(): Promise<string> {
    await until('the process has ended', () => this.#ended)
    const log = await readFile(join(this.#process.folder, 'log'), 'utf8')
    return log.replace(listening, '')
  }

  async stop(): Promise<void> {
    await this.#process.stop()
  }
}
