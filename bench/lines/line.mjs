/**
 * One question of the benchmark: several ways to do the same, measured by turns in one process.
 *
 * @typedef {object} Line
 * @property {string} title the question, for the table
 * @property {string} unit of the figures
 * @property {'less' | 'more'} better
 * @property {string} floor the way that all others are compared with
 * @property {Record<string, number>} goals the ratio to the floor that a way must reach, by way; for `less`, the most
 * @property {(build: Build) => Promise<Ways>} open
 *
 * @typedef {object} Ways
 * @property {Record<string, () => Promise<number>>} ways each runs once and returns a figure
 * @property {() => Promise<unknown>} close
 *
 * @typedef {object} Build
 * @property {typeof import('herdless')} herdless
 * @property {typeof import('herdless/redis')} redis
 * @property {string} folder of the compiled modules
 * @property {string} url of a Redis
 */

/** A product as a shop would cache it, of about 200 bytes of JSON. */
export const product = { id: 7, name: 'a product', tags: ['one', 'two'], text: 'x'.repeat(140) }

/** A loader for values that are there. */
export function never() {
  throw new Error('Expected a hit, and the loader was called')
}

/**
 * The processor time of this process for some work, in microseconds for each of `count`.
 * @param {number} count
 * @param {() => Promise<unknown>} work
 */
export async function processorTime(count, work) {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

/**
 * The time of some work, in microseconds for each of `count`.
 * @param {number} count
 * @param {() => Promise<unknown>} work
 */
export async function timeOfEach(count, work) {
  const began = performance.now()
  await work()
  return ((performance.now() - began) * 1_000) / count
}

/**
 * How many a second of something that is done one after the other.
 * @param {number} count
 * @param {(index: number) => unknown} once
 */
export async function perSecond(count, once) {
  const began = performance.now()
  for (let index = 0; index < count; index++) await once(index)
  return (count / (performance.now() - began)) * 1_000
}

/** The bytes on the heap after a collection. */
export function heapUsed() {
  if (globalThis.gc === undefined) throw new Error('Expected node --expose-gc')
  globalThis.gc()
  return process.memoryUsage().heapUsed
}
