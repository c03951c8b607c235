import { strict as assert } from 'node:assert'

/** The most that counts of the time between two looks at the clock, in milliseconds. */
const counted = 100

/** Time in which a process runs: on a busy machine it may be blocked for seconds, and what it waits for cannot reach it meanwhile. */
class Countdown {
  #left: number
  #last = performance.now()

  constructor(ms: number) {
    this.#left = ms
  }

  isOver(): boolean {
    const now = performance.now()
    this.#left -= Math.min(now - this.#last, counted)
    this.#last = now
    return this.#left <= 0
  }
}

/** Repeats a question until the answer is not `undefined`, for so many milliseconds in which this process runs. */
export async function until<T>(what: string, ask: () => T | Promise<T>, timeout: number): Promise<NonNullable<T>> {
  const countdown = new Countdown(timeout)
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== null) return answer
    assert(!countdown.isOver(), `${what} within ${timeout} ms`)
    await pause(5)
  }
}

/** The result of a promise, which must settle within so many milliseconds in which this process runs. */
export async function inTime<T>(promise: Promise<T>, what: string, timeout: number): Promise<T> {
  const countdown = new Countdown(timeout)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (countdown.isOver()) reject(new assert.AssertionError({ message: `${what} within ${timeout} ms` }))
    }, counted / 2)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearInterval(timer)
  }
}

/** How often something is tried that took too long each time. */
const tries = 20

/**
 * Does something that must be over within so many milliseconds: if it fails and took longer, because a process was blocked,
 * that says nothing, and it is done again.
 */
export async function within(ms: number, attempt: () => Promise<void>): Promise<void> {
  for (let left = tries - 1; ; left--) {
    const began = performance.now()
    try {
      return await attempt()
    } catch (error) {
      if (left === 0 || performance.now() - began < ms) throw error
    }
  }
}

/** Resolves after `ms` milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
