/** Four processes that cache with one peer, and the stampedes in them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startChild } from '../../examples/stampede-lab/children.mjs'
import { now } from '../../examples/stampede-lab/clock.mjs'
import { processes } from './cases.mjs'

const callers = 250
/** Milliseconds that a caller waits for its answer. */
const patience = 15_000

/**
 * @typedef {import('../../examples/stampede-lab/children.mjs').Child} Child
 *
 * @typedef {object} Stampede
 * @property {number} time milliseconds that the loader takes
 * @property {boolean} [fails]
 * @property {number} [killAfter] milliseconds after the first load has begun in which its process is killed
 *
 * @typedef {object} Round the outcome of one stampede
 * @property {number} callers without those of a process that was killed
 * @property {number} loads
 * @property {number} commands
 * @property {number} last milliseconds to the last answer: from the common instant, or from the kill
 * @property {Record<import('./worker.mjs').Outcome, number>} outcomes
 *
 * @typedef {Omit<import('./peer.mjs').Setup, 'url' | 'name'>} Settings
 */

export class Fleet {
  #peer
  #place
  #commands
  /** @type {Child[]} */
  #workers = []
  /** @type {Settings} */
  #settings = { namespace: '', memory: false }
  #stampedes = 0
  #loads = 0
  /** @type {((child: Child) => void) | undefined} */
  #onLoad

  /**
   * @param {string} peer
   * @param {{ url: string, name: string }} place
   * @param {import('../../examples/stampede-lab/command-counter.mjs').CommandCounter} commands
   */
  constructor(peer, place, commands) {
    this.#peer = peer
    this.#place = place
    this.#commands = commands
  }

  /** Opens the caches anew, with other settings. @param {Settings} settings */
  async open(settings) {
    this.#settings = settings
    const open = this.#alive()
    await this.#replaceDead()
    await Promise.all(open.map((worker) => this.#prepare(worker)))
  }

  /** All callers of all processes ask for one cold key at one instant. @param {Stampede} order @returns {Promise<Round>} */
  async stampede({ time, fails = false, killAfter }) {
    await this.#replaceDead()
    await this.#commands.start()
    this.#loads = 0
    const at = now() + 100
    const killing = killAfter === undefined ? null : this.#killLeader(killAfter)
    const order = { key: this.#newKey(), at, callers, patience, time, fails }
    const told = await Promise.all(
      this.#workers.map((worker) =>
        worker.ask('stampede', order).catch((error) => {
          if (killing !== null && !worker.alive()) return null
          throw error
        }),
      ),
    )
    /** @type {import('./worker.mjs').Answers[]} */
    const answers = told.filter((each) => each !== null)
    const outcomes = { value: 0, error: 0, nothing: 0, unanswered: 0 }
    for (const each of answers) {
      for (const [outcome, count] of Object.entries(each.outcomes)) {
        outcomes[/** @type {import('./worker.mjs').Outcome} */ (outcome)] += count
      }
    }
    if (this.#loads === 0) throw new Error('Expected a load of the cold key, and none began')
    const began = killing === null ? at : await killing
    const last = Math.max(...answers.map((each) => each.last)) - (began - at)
    if (outcomes.unanswered > 0) await this.stop()
    await this.#all('settle')
    return {
      callers: answers.length * callers,
      loads: this.#loads,
      commands: await this.#commands.stop(),
      last,
      outcomes,
    }
  }

  /**
   * Half-way through a load of the old value, a process changes the source and invalidates the key.
   * @param {'the same process' | 'another process'} by
   * @returns {Promise<{ isOld: boolean }>} whether a process is given the old value afterwards
   */
  async invalidation(by) {
    await this.#replaceDead()
    const [loading, other] = /** @type {[Child, Child]} */ (this.#workers)
    const key = this.#newKey()
    await this.#all('change', { value: 'old' })
    const begun = new Promise((resolve) => (this.#onLoad = resolve))
    const first = loading.ask('get', { key, time: 200 })
    await Promise.race([begun, first])
    this.#onLoad = undefined
    await sleep(100)
    await this.#all('change', { value: 'new' })
    await (by === 'the same process' ? loading : other).ask('invalidate', { key })
    await first
    await this.#all('settle')
    // A store that is written in the background has its time.
    await sleep(100)
    const values = []
    for (const worker of this.#workers) values.push(await worker.ask('get', { key, time: 0 }))
    return { isOld: values.some(({ value }) => value === 'old') }
  }

  /** Something that the first process alone does. @param {string} what @param {object} details */
  async inOne(what, details) {
    return this.#workers[0]?.ask(what, details)
  }

  async stop() {
    await Promise.all(this.#workers.map((worker) => worker.kill()))
  }

  #alive() {
    return this.#workers.filter((worker) => worker.alive())
  }

  #newKey() {
    return `stampede:${this.#stampedes++}`
  }

  async #replaceDead() {
    const missing = Array.from({ length: processes - this.#alive().length }, () => this.#startWorker())
    this.#workers = [...this.#alive(), ...(await Promise.all(missing))]
  }

  async #startWorker() {
    const worker = startChild(new URL('worker.mjs', import.meta.url).href, [this.#peer])
    worker.onNews(() => {
      this.#loads++
      this.#onLoad?.(worker)
    })
    await this.#prepare(worker)
    return worker
  }

  /** @param {Child} worker */
  async #prepare(worker) {
    await worker.ask('open', { ...this.#place, ...this.#settings })
    await worker.ask('rehearse')
  }

  /** @param {string} what @param {object} [details] */
  async #all(what, details) {
    await Promise.all(this.#alive().map((worker) => worker.ask(what, details)))
  }

  /**
   * Kills the first process whose loader runs, some time after it began.
   * @param {number} delay
   * @returns {Promise<number>} when
   */
  async #killLeader(delay) {
    const leader = await new Promise((/** @type {(child: Child) => void} */ resolve) => (this.#onLoad = resolve))
    this.#onLoad = undefined
    await sleep(delay)
    const at = now()
    await leader.kill()
    return at
  }
}
