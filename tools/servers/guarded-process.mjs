/**
 * Starts programs that cannot be left behind: their parent is a guardian process, which ends them when this process
 * ends, however it ends.
 */
import { fork } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {object} GuardedProcess
 * @property {number} pid
 * @property {string} folder its own, where it runs; what it prints is in the file `log`
 * @property {Promise<void>} ended resolves when the process has ended
 * @property {(name: NodeJS.Signals) => void} signal does nothing once the process has ended
 * @property {() => Promise<void>} stop kills it with all that it has started, waits for its end and removes its folder
 */

class Guardian {
  #root = mkdtempSync(join(tmpdir(), 'herdless-'))
  #child = fork(fileURLToPath(new URL('guardian.mjs', import.meta.url)), [this.#root], {
    detached: true,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  /** @type {Map<number, (answer: import('./guardian.mjs').Answer) => void>} */
  #listeners = new Map()
  /** @type {Map<number, string>} */
  #running = new Map()
  #lastId = 0
  #awaited = 0

  constructor() {
    this.#child.on('message', (/** @type {import('./guardian.mjs').Answer} */ answer) =>
      this.#listeners.get(answer.id)?.(answer),
    )
    // Not its exit: nothing keeps this process alive until that is told.
    this.#child.once('disconnect', () => {
      const message = 'The guardian of this process has ended'
      for (const [id, listener] of this.#listeners) listener({ word: 'failed', id, message })
    })
    this.#child.unref()
    this.#child.channel?.unref()
  }

  /** The commands that it has started and that have not ended. */
  get running() {
    return [...this.#running.values()]
  }

  newFolder() {
    return mkdtemp(join(this.#root, 'process-'))
  }

  /**
   * @param {string} command
   * @param {string[]} args
   * @param {{ folder: string, env: Record<string, string> }} options
   * @returns {Promise<GuardedProcess>}
   */
  async start(command, args, { folder, env }) {
    const id = ++this.#lastId
    let running = true
    /** @type {() => void} */
    let end
    /** @type {Promise<void>} */
    const ended = new Promise((resolve) => (end = resolve))
    /** @type {Promise<number>} */
    const started = new Promise((resolve, reject) => {
      this.#listeners.set(id, (answer) => {
        if (answer.word === 'started') return resolve(answer.pid)
        this.#listeners.delete(id)
        this.#running.delete(id)
        // A guardian that has died says nothing of what it had started, so that is still to be killed.
        if (answer.word === 'failed') reject(new Error(answer.message))
        else running = false
        end()
      })
      this.#running.set(id, [command, ...args].join(' '))
      this.#child.send({ id, command, args, env, folder })
    })
    const pid = await this.#stayingAlive(started)
    const signal = (/** @type {NodeJS.Signals} */ name) => void (running && process.kill(pid, name))
    const stop = async () => {
      if (running) process.kill(-pid, 'SIGKILL')
      await this.#stayingAlive(ended)
      await rm(folder, { recursive: true, force: true })
    }
    return { pid, folder, ended, signal, stop }
  }

  /**
   * The channel keeps this process alive only while an answer is due, so that a script that has done its work ends.
   * @template T
   * @param {Promise<T>} answer
   */
  async #stayingAlive(answer) {
    if (this.#awaited++ === 0) this.#child.channel?.ref()
    try {
      return await answer
    } finally {
      if (--this.#awaited === 0) this.#child.channel?.unref()
    }
  }
}

/** @type {Guardian | undefined} */
let guardian

/** The guardian of this process, started with its first use. */
export function guardianOfThisProcess() {
  return (guardian ??= new Guardian())
}
