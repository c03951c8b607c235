/** What the block marked `in=shop` has before it begins, a source that counts; and what the block must do: ask it once for all callers. */
import { deepEqual, equal } from 'node:assert/strict'

let queries = 0

/** @param {string} region */
export async function query(region) {
  queries++
  return [{ region, title: 'mittens' }]
}

/** @param {(region: string) => Promise<unknown>} bestSellers */
export async function check(bestSellers) {
  const answers = await Promise.all(Array.from({ length: 100 }, () => bestSellers('north')))
  deepEqual(answers, Array(100).fill([{ region: 'north', title: 'mittens' }]))
  deepEqual(await bestSellers('north'), [{ region: 'north', title: 'mittens' }])
  equal(queries, 1)
}
