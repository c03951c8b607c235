/**
 * Measures one line in a process of its own, and sends the figures to the parent: `node measure-line.mjs <order>`.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { lines } from './lines/index.mjs'

/**
 * @typedef {object} Order
 * @property {string} line
 * @property {Record<string, string>} builds folders of compiled modules, by label; the label is put before the ways
 * @property {string} url of a Redis
 * @property {number} rounds
 */

const { line, builds, url, rounds } = /** @type {Order} */ (JSON.parse(process.argv[2] ?? ''))
const measured = /** @type {import('./lines/line.mjs').Line} */ (lines[line])
/** @type {Record<string, () => Promise<number>>} */
const ways = {}
/** @type {(() => Promise<unknown>)[]} */
const closes = []
for (const [label, folder] of Object.entries(builds)) {
  const load = (/** @type {string} */ file) => import(pathToFileURL(join(folder, file)).href)
  const [herdless, redis] = [await load('index.js'), await load('redis/index.js')]
  const opened = await measured.open({ herdless, redis, folder, url })
  closes.push(opened.close)
  for (const [name, way] of Object.entries(opened.ways)) ways[label === '' ? name : `${label}: ${name}`] = way
}
/** @type {Record<string, number[]>} */
const figures = Object.fromEntries(Object.keys(ways).map((name) => [name, []]))
// The first two rounds are for the just-in-time compiler.
for (let round = -2; round < rounds; round++) {
  for (const [name, way] of Object.entries(ways)) {
    const figure = await way()
    if (round >= 0) figures[name]?.push(figure)
  }
}
for (const close of closes) await close()
process.send?.(figures, () => process.disconnect())
