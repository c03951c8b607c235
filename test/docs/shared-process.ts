import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** What a program printed, and the code with which it ended. */
export interface Outcome {
  readonly code: number | null
  readonly output: string
}

/** How long a program may run, in milliseconds. */
export const timeout = 25_000

/** What a process has printed when it has ended, and its code. */
export async function outcome(child: ChildProcess): Promise<Outcome> {
  let output = ''
  child.stdout?.on('data', (text) => (output += text))
  child.stderr?.on('data', (text) => (output += text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}

/** Runs modules one after the other in one process, which reads the libraries once for all of them. */
export class SharedProcess {
  #child: ChildProcess | undefined
  #ended: Promise<Outcome> | undefined

  /** @param env of the process, as the first module needs it */
  async run(module: string, env: NodeJS.ProcessEnv): Promise<Outcome> {
    const { child, ended } = this.#running(env)
    const timer = setTimeout(() => child.kill('SIGKILL'), timeout)
    const answered = once(child, 'message').then(([answer]) => answer as Outcome)
    child.send(module)
    const end = await Promise.race([answered, ended])
    clearTimeout(timer)
    return end
  }

  async stop(): Promise<void> {
    this.#child?.kill()
    await this.#ended
  }

  /** A process that a module has ended is replaced for the next one. */
  #running(env: NodeJS.ProcessEnv): { child: ChildProcess; ended: Promise<Outcome> } {
    if (this.#child?.connected && this.#ended) return { child: this.#child, ended: this.#ended }
    const child = fork(fileURLToPath(new URL('run-blocks.mjs', import.meta.url)), { env, silent: true, execArgv: [] })
    this.#child = child
    this.#ended = outcome(child)
    return { child, ended: this.#ended }
  }
}
