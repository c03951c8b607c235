import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The output of a program, and its exit code: `null` if a signal ended it. */
export interface Outcome {
  readonly code: number | null
  readonly output: string
}

/** When a program is taken for one that hangs, in milliseconds. */
export const timeout = 100_000

/** Resolves with the outcome of a process when it has ended. */
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

  /** @param env the environment of the process, if one has to be started */
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
    // Some modules want to do something at SIGTERM.
    this.#child?.kill('SIGKILL')
    await this.#ended
  }

  /** The process; a new one if a module has ended the last. */
  #running(env: NodeJS.ProcessEnv): { child: ChildProcess; ended: Promise<Outcome> } {
    if (this.#child?.connected && this.#ended) return { child: this.#child, ended: this.#ended }
    const child = fork(fileURLToPath(new URL('run-blocks.mjs', import.meta.url)), { env, silent: true, execArgv: [] })
    this.#child = child
    this.#ended = outcome(child)
    return { child, ended: this.#ended }
  }
}
