import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The tour, of a minute: acts that are played by themselves, the most telling one first. The page has their words.
 *
 * @typedef {import('./settings.mjs').Side} Side
 * @typedef {import('./scene.mjs').Totals} Totals
 * @typedef {{ name: string, seconds: number, does: [after: number, action: string, value?: string][] }} Act
 * @typedef {{ act: string } & Record<Side, Totals>} Result
 */

/** @type {Act[]} */
const acts = [
  {
    name: 'nothing',
    seconds: 11,
    does: [
      [0, 'calm'],
      [2.5, 'expire'],
    ],
  },
  {
    name: 'coalescing',
    seconds: 9,
    does: [
      [0, 'way', 'coalescing'],
      [2, 'expire'],
    ],
  },
  {
    name: 'lock',
    seconds: 11,
    does: [
      [0, 'way', 'lock'],
      [2, 'expire'],
    ],
  },
  { name: 'kill', seconds: 10, does: [[1, 'kill']] },
  {
    name: 'invalidate',
    seconds: 9,
    does: [
      [0.5, 'slow', 'off'],
      [1, 'invalidate'],
    ],
  },
  {
    name: 'redisDown',
    seconds: 11,
    does: [
      [1, 'redisDown'],
      [9, 'redisUp'],
    ],
  },
]

/** Plays the acts once, unless it is stopped. */
export class Tour {
  #act
  #counts
  #acts
  /** @type {AbortController | null} */
  #playing = null
  /** @type {{ act: string, number: number, of: number } | null} */
  now = null
  /** What each act cost, once all have been played. @type {Result[] | null} */
  results = null

  /**
   * @param {object} lab
   * @param {(action: string, value?: string) => Promise<unknown>} lab.act
   * @param {(side: Side) => Totals} lab.counts
   * @param {boolean} lab.mayStopRedis
   */
  constructor({ act, counts, mayStopRedis }) {
    this.#act = act
    this.#counts = counts
    this.#acts = acts.filter(({ name }) => mayStopRedis || name !== 'redisDown')
  }

  async play() {
    this.stop()
    const playing = (this.#playing = new AbortController())
    /** @type {Result[]} */
    const results = []
    try {
      for (const [index, act] of this.#acts.entries()) {
        this.now = { act: act.name, number: index + 1, of: this.#acts.length }
        results.push(await this.#playAct(act, playing.signal))
      }
      this.results = results
    } catch (error) {
      if (!playing.signal.aborted) throw error
    } finally {
      if (this.#playing === playing) this.#end()
    }
  }

  stop() {
    this.results = null
    this.#end()
  }

  #end() {
    this.#playing?.abort()
    this.#playing = null
    this.now = null
  }

  /** Resolves with what the act cost before Redis came back. @param {Act} act @param {AbortSignal} signal @returns {Promise<Result>} */
  async #playAct({ name, seconds, does }, signal) {
    const start = performance.now()
    const until = (/** @type {number} */ after) =>
      sleep(Math.max(0, start + after * 1_000 - performance.now()), undefined, { signal })
    let result = this.#result(name)
    for (const [after, action, value] of does) {
      await until(after)
      result = this.#result(name)
      await this.#act(action, value)
      signal.throwIfAborted()
    }
    await until(seconds)
    return name === 'redisDown' ? result : this.#result(name)
  }

  /** @param {string} act @returns {Result} */
  #result(act) {
    return { act, without: this.#counts('without'), with: this.#counts('with') }
  }
}
