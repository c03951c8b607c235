import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * A process that the lab started. The lab asks, the child answers; between answers a child may also tell something.
 *
 * @typedef {object} Child
 * @property {(what: string, details?: object) => Promise<any>} ask  rejects when the child dies before it answers
 * @property {(listener: (news: any) => void) => () => void} onNews  returns the way to stop listening
 * @property {() => Promise<void>} kill  kill -9; resolves when it is gone
 * @property {(isPaused: boolean) => void} pause  SIGSTOP, or SIGCONT
 * @property {() => boolean} alive
 */

const longestAnswer = 5 * 60_000

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

/**
 * @param {string} file  beside this one
 * @param {string[]} [args]
 * @returns {Child}
 */
export function startChild(file, args = []) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  running.add(child)

  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text) => (said = (said + text).slice(-2_000)))

  let questions = 0
  /** @type {Map<number, { resolve: (answer: any) => void, reject: (error: Error) => void }>} */
  const open = new Map()
  /** @type {Set<(news: any) => void>} */
  const listeners = new Set()

  child.on('message', (/** @type {any} */ message) => {
    if ('news' in message) {
      for (const listener of listeners) listener(message.news)
      return
    }
    const question = open.get(message.id)
    open.delete(message.id)
    if ('error' in message) question?.reject(new Error(`${file}: ${message.error}`))
    else question?.resolve(message.answer)
  })

  /** @type {Error | undefined} */
  let ended
  child.on('close', (code, signal) => {
    running.delete(child)
    // Of a stack trace, the line that says what happened.
    const reason = /^\w*Error.*/m.exec(said)?.[0] ?? said.trim()
    ended = new Error(`${file} ended (${signal ?? `exit code ${code}`})${reason && `: ${reason}`}`)
    for (const { reject } of open.values()) reject(ended)
    open.clear()
  })

  return {
    ask: (what, details = {}) =>
      new Promise((resolve, reject) => {
        if (ended) return reject(ended)
        const id = ++questions
        open.set(id, { resolve, reject })
        setTimeout(() => reject(new Error(`${file} gave no answer to '${what}' in 5 minutes`)), longestAnswer).unref()
        // An error in sending means that the child is gone, and 'close' rejects what is open.
        child.send({ id, what, details }, () => {})
      }),
    onNews(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async kill() {
      if (ended) return
      const gone = once(child, 'close')
      child.kill('SIGKILL')
      await gone
    },
    pause(isPaused) {
      child.kill(isPaused ? 'SIGSTOP' : 'SIGCONT')
    },
    alive: () => !ended,
  }
}

/** Stops everything that was started and still runs, without waiting: it must work from an 'exit' listener, too. */
export function stopChildren() {
  for (const child of running) child.kill('SIGKILL')
}

/**
 * The child's side: answers the lab's questions until the lab is gone, however it went.
 * @param {Record<string, (details: any) => unknown>} answers
 */
export function serveParent(answers) {
  process.on('message', async (/** @type {any} */ { id, what, details }) => {
    try {
      const answer = await answers[what]?.(details)
      process.send?.({ id, answer })
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? error.message : String(error) })
    }
  })

  process.on('disconnect', () => process.exit())
  // Ctrl-C reaches every process of the terminal at once; it is for the lab to end its children in order.
  process.on('SIGINT', () => {})
}

/**
 * Tells the lab something that it did not ask for.
 * @param {unknown} news
 */
export function tellParent(news) {
  process.send?.({ news })
}
