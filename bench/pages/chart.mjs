/** docs/performance.svg, of the results of `npm run bench`: what is better the more it is, as a multiple of its floor. */
import { multiple } from './table.mjs'

/** The bars, from the top: the line, the way, and what is said of it. */
const bars = /** @type {const} */ ([
  ['near', 'frozen', 'Near cache, one frozen copy', 'await lru.get()'],
  ['near', 'cloned', 'Near cache, a copy for each caller', 'await lru.get()'],
  ['memory', 'frozen', 'Store in memory, one frozen value', 'await lru.get()'],
  ['memory', 'a copy each', 'Store in memory, a copy for each caller', 'await lru.get()'],
  ['hits-1', 'herdless', 'Redis, 1 call in flight', 'GET and JSON.parse'],
  ['hits-8', 'herdless', 'Redis, 8 calls in flight', 'GET and JSON.parse'],
  ['hits-64', 'herdless', 'Redis, 64 calls in flight', 'GET and JSON.parse'],
  ['hits-1000', 'herdless', 'Redis, 1000 calls in flight', 'GET and JSON.parse'],
  ['lock', 'herdless', 'Lock, taken and released', 'SET NX PX and EVALSHA'],
])
const [width, left, right, top, step] = [884, 300, 80, 78, 40]

/** @param {import('./performance.mjs').Performance} performance */
export function chart({ results }) {
  const shown = bars.flatMap(([line, way, label, floor]) => {
    const ratio = results.find(({ name }) => name === line)?.rows.find((row) => row.way === way)?.ratio
    return ratio === undefined || ratio === null ? [] : [{ ratio, label, floor }]
  })
  const most = Math.max(1.25, ...shown.map(({ ratio }) => ratio))
  const x = (/** @type {number} */ ratio) => Math.round(left + (ratio / most) * (width - left - right))
  const height = top + shown.length * step + 16
  const said = shown.map(({ label, floor, ratio }) => `${label}: ${multiple(ratio)} × ${floor}`).join('. ')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">
<title id="title">${said}.</title>
<style>
  text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; fill: #1c1b19; font-size: 14px }
  .head { font-size: 16px; font-weight: 600 } .soft { fill: #5d5a54; font-size: 12px }
  .value { font-weight: 600; font-variant-numeric: tabular-nums } .label, .value { text-anchor: end } .mark { text-anchor: middle }
  .card { fill: #fff; stroke: #e3e0d9 } .bar { fill: #0b6b63 } .floor { stroke: #b4380f; stroke-width: 2; stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f1efea } .soft { fill: #aaa69d } .card { fill: #1e1d1b; stroke: #34322e }
    .bar { fill: #4fd1c1 } .floor { stroke: #ff9466 }
  }
</style>
<rect class="card" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="14"/>
<text class="head" x="20" y="32">Calls a second, as a multiple of the floor</text>
<text class="soft mark" x="${x(1)}" y="${top - 14}">1 = the floor</text>
${shown
  .map(({ ratio, label, floor }, index) => {
    const y = top + index * step
    return `<text class="label" x="${left - 12}" y="${y + 12}">${label}</text><text class="soft label" x="${left - 12}" y="${y + 27}">${floor}</text>
<rect class="bar" x="${left}" y="${y + 3}" width="${x(ratio) - left}" height="22" rx="3"/><text class="value" x="${width - 20}" y="${y + 19}">${multiple(ratio)}</text>`
  })
  .join('\n')}
<line class="floor" x1="${x(1)}" x2="${x(1)}" y1="${top - 6}" y2="${height - 16}"/>
</svg>
`
}
