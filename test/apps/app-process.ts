import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { guardianOfThisProcess, type GuardedProcess } from '../../tools/servers/guarded-process.mjs'
import { until } from '../../tools/until.mjs'
import { apps } from './given-package.ts'

export interface Answer {
  readonly status: number
  readonly body: unknown
}

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

  /** @param script below the folder of the apps */
  static async start(script: string, env: Record<string, string>): Promise<AppProcess> {
    const guardian = guardianOfThisProcess()
    const folder = await guardian.newFolder()
    const running = await guardian.start(process.execPath, [join(apps, script)], { folder, env })
    let ended = false
    void running.ended.then(() => (ended = true))
    const log = async (): Promise<string> => readFile(join(folder, 'log'), 'utf8')
    const port = await until(
      `${script} listens`,
      async () => {
        const [, text] = /listens on (\d+)/.exec(await log()) ?? []
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
    return log.replace(/^listens on \d+\n/, '')
  }

  async stop(): Promise<void> {
    await this.#process.stop()
  }
}
