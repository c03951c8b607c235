import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The guided minute: steps that act by themselves.
 *
 * @typedef {{ caption: string, seconds: number, acts: [after: number, action: string, value?: string][] }} Step
 */

/** @type {Step[]} */
export const steps = [
  {
    caption:
      'Four processes answer 240 requests a second from Redis. Now all keys expire: without protection, each request that arrives before the first answer queries the database.',
    seconds: 9,
    acts: [
      [0, 'way', 'nothing'],
      [0, 'slow', 'off'],
      [0, 'failing', 'off'],
      [2.5, 'expire'],
      [6, 'expire'],
    ],
  },
  {
    caption:
      'The source becomes slow: a load takes 1.5 s longer. The herd grows with every moment of the load. On the right it stays at one query for each key.',
    seconds: 11,
    acts: [
      [0, 'slow', 'on'],
      [1.5, 'expire'],
      [6.5, 'expire'],
    ],
  },
  {
    caption:
      'One promise per key in each process, as many libraries do it: one query for each process. The database still gets the same query four times.',
    seconds: 10,
    acts: [
      [0, 'way', 'coalescing'],
      [1, 'expire'],
      [5.5, 'expire'],
    ],
  },
  {
    caption:
      'The lock of the usual tutorial lasts 1 s, the load takes longer: the lock expires under its holder, the next caller loads too, and the first one deletes the lock of the second. On the right the lease is renewed.',
    seconds: 12,
    acts: [
      [0, 'way', 'lock'],
      [1, 'expire'],
      [6.5, 'expire'],
    ],
  },
  {
    caption:
      'Now the loading process is killed with kill -9. On the right the waiters notice within half a second, and one of them loads instead.',
    seconds: 10,
    acts: [[1, 'kill']],
  },
  {
    caption:
      'Data changes while a load of the old data is under way. On the left the old data is stored after the invalidation, and served. On the right the late result is refused.',
    seconds: 8,
    acts: [
      [0, 'slow', 'off'],
      [0.5, 'invalidate'],
    ],
  },
]

/** Plays the steps once, unless it is stopped. */
export class Tour {
  #act
  /** @type {AbortController | null} */
  #playing = null
  /** @type {{ step: number, of: number, caption: string } | null} */
  now = null

  /** @param {(action: string, value?: string) => Promise<unknown>} act */
  constructor(act) {
    this.#act = act
  }

  async play() {
    this.stop()
    const playing = (this.#playing = new AbortController())
    try {
      for (const [index, step] of steps.entries()) {
        this.now = { step: index + 1, of: steps.length, caption: step.caption }
        await this.#playStep(step, playing.signal)
      }
    } catch (error) {
      if (!playing.signal.aborted) throw error
    } finally {
      if (this.#playing === playing) this.stop()
    }
  }

  stop() {
    this.#playing?.abort()
    this.#playing = null
    this.now = null
  }

  /** @param {Step} step @param {AbortSignal} signal */
  async #playStep({ seconds, acts }, signal) {
    const end = performance.now() + seconds * 1_000
    const start = performance.now()
    for (const [after, action, value] of acts) {
      await sleep(Math.max(0, start + after * 1_000 - performance.now()), undefined, { signal })
      await this.#act(action, value)
      signal.throwIfAborted()
    }
    await sleep(Math.max(0, end - performance.now()), undefined, { signal })
  }
}
