import { setTimeout as pause } from 'node:timers/promises'

/**
 * Asks again and again until a condition holds: the way to wait for something that sends no word when it happens.
 * @template T
 * @param {string} what the condition in words, for the error
 * @param {() => T | Promise<T>} condition holds once its answer is truthy; while it throws it does not hold
 * @param {number} [timeout] in milliseconds, 10 s by default
 * @returns {Promise<Exclude<T, false | null | undefined>>} the answer
 * @throws {Error} when the time is over: the message names the condition, the cause is what it last threw
 */
export async function until(what, condition, timeout = 10_000) {
  const end = performance.now() + timeout
  for (;;) {
    let cause
    try {
      const answer = await condition()
      if (answer) return /** @type {Exclude<T, false | null | undefined>} */ (answer)
    } catch (error) {
      cause = error
    }
    if (performance.now() >= end) throw new Error(`Waited ${timeout} ms in vain until ${what}`, { cause })
    await pause(10)
  }
}
