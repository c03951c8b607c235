/**
 * Draws docs/lab.svg, the moving picture of the README, from runs of the real lab: the queries that reach the database
 * when three keys expire at once and the source is slow. Each protection has a card and a count of its own, which begins
 * when the keys expire. For a machine that has nothing else to do.
 *
 * node scripts/draw-lab.mjs
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopChildren } from '../examples/stampede-lab/children.mjs'
import { startLive } from '../examples/stampede-lab/live/live.mjs'
import { checkout } from '../tools/command.mjs'

/** A frame lasts so long, in milliseconds; after the last one of a run, the picture stands still for a while. */
const every = 200
const length = { run: 4_000, still: 4_000 }

/** @typedef {{ without: number[], with: number[] }} Run  queries since the keys expired, frame by frame */
/** @typedef {{ title: string, className: string, counts: number[] }} Card */

const runs = await record(['nothing', 'lock'])
const svg = picture([
  { title: 'no protection', className: 'without', counts: runs[0]?.without ?? [] },
  { title: 'tutorial lock', className: 'without', counts: runs[1]?.without ?? [] },
  // It runs beside both of the others: the worse one counts.
  { title: 'herdless', className: 'with', counts: worse(runs.map((run) => run.with)) },
])
await writeFile(join(checkout, 'docs/lab.svg'), svg)
console.log(`docs/lab.svg says ${/<title[^>]*>(.*)<\/title>/.exec(svg)?.[1]}`)
process.exit()

/** A run for each protection of the left side. @param {string[]} ways @returns {Promise<Run[]>} */
async function record(ways) {
  const live = await startLive({ isGuided: false })
  const headers = { 'x-herdless-lab': '1' }
  /** @param {string} action @param {string} [value] */
  const act = (action, value = '') => fetch(`${live.url}actions/${action}?value=${value}`, { method: 'POST', headers })
  const counts = () => live.snapshot().sides
  /** @type {Run[]} */
  const all = []
  try {
    await act('slow', 'on')
    for (const way of ways) {
      await act('way', way)
      await sleep(1_000)
      await act('expire')
      /** @type {Run} */
      const run = { without: [], with: [] }
      for (let frame = 0; frame < length.run / every; frame++) {
        await sleep(every)
        run.without.push(counts().without.queries)
        run.with.push(counts().with.queries)
      }
      all.push(run)
    }
    return all
  } finally {
    stopChildren()
    await live.stop()
  }
}

/** @param {number[][]} counts */
function worse(counts) {
  return counts.toSorted((one, other) => (other.at(-1) ?? 0) - (one.at(-1) ?? 0))[0] ?? []
}

/** @param {Card[]} cards */
function picture(cards) {
  const sums = cards.map(({ title, counts }) => `${counts.at(-1)} with ${title}`)
  const seconds = (length.run + length.still) / 1_000
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 286" role="img" aria-labelledby="title">
<title id="title">Queries that reach the database when three hot keys expire under 240 requests a second, and a load takes 1.5 s: ${sums.join(', ')}.</title>
<style>
  text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; font-size: 20px; fill: #1c1b19 }
  .head { font-size: 21px; font-weight: 600 } .number { font-size: 70px; font-weight: 700; letter-spacing: -2px }
  .without .number { fill: #b4380f } .with .number { fill: #0b6b63 }
  .without path { stroke: #b4380f } .with path { stroke: #0b6b63 } path { fill: none; stroke-width: 5; stroke-linecap: round }
  .card { fill: #fff; stroke: #dedad2 }
  .frame { opacity: 0; animation: ${seconds}s step-end infinite }
  ${keyframes(cards)}
  @media (prefers-color-scheme: dark) {
    text { fill: #f1efea } .card { fill: #1e1d1b; stroke: #3a3833 }
    .without .number { fill: #ff9466 } .with .number { fill: #4fd1c1 }
    .without path { stroke: #ff9466 } .with path { stroke: #4fd1c1 }
  }
  @media (prefers-reduced-motion: reduce) { .frame { animation: none } .stays { opacity: 1 } }
</style>
${cards.map((card, index) => drawn(card, index * 242)).join('\n')}
</svg>
`
}

/** @param {Card} card @param {number} left */
function drawn({ title, className, counts }, left) {
  const numbers = changesOf(counts).map(({ count, from, to }) => {
    const stays = to === undefined ? ' stays' : ''
    return `<text class="number frame${stays}" style="animation-name: f${from}-${to ?? 'end'}" x="16" y="110">${count}</text>`
  })
  const dots = changesOf(counts).map(({ count, from }, index, all) => {
    const before = all[index - 1]?.count ?? 0
    return `<path class="frame stays" style="animation-name: f${from}-end" d="${heap(before, count)}"/>`
  })
  return `<g class="${className}" transform="translate(${left + 1} 1)">
<rect class="card" width="234" height="284" rx="14"/>
<text class="head" x="16" y="36">${title}</text>
${numbers.join('\n')}
<text x="16" y="140">queries</text>
${dots.join('\n')}
</g>`
}

/** One dot for each query, heaped up from the ground. @param {number} from @param {number} to */
function heap(from, to) {
  const [pitch, perRow] = [7, 29]
  const dots = Array.from({ length: to - from }, (_, index) => from + index)
  return dots.map((dot) => `M${19 + (dot % perRow) * pitch} ${269 - Math.floor(dot / perRow) * pitch}h0`).join('')
}

/** @param {number[]} counts @returns {{ count: number, from: number, to?: number }[]} from one frame up to another one */
function changesOf(counts) {
  const starts = [0, ...counts.flatMap((count, frame) => (frame > 0 && count !== counts[frame - 1] ? [frame] : []))]
  return starts.map((from, index) => {
    const to = starts[index + 1]
    return { count: counts[from] ?? 0, from, ...(to === undefined ? {} : { to }) }
  })
}

/** @param {Card[]} cards */
function keyframes(cards) {
  const all = cards.flatMap(({ counts }) => changesOf(counts))
  const names = new Set(all.flatMap(({ from, to }) => [`${from}-${to ?? 'end'}`, `${from}-end`]))
  const percent = (/** @type {number} */ frame) =>
    `${((100 * frame * every) / (length.run + length.still)).toFixed(2)}%`
  return [...names]
    .map((name) => {
      const [from, to] = name.split('-').map(Number)
      const begins = from === 0 ? '' : '0% { opacity: 0 } '
      const ends = Number.isNaN(to) ? '' : ` ${percent(to ?? 0)} { opacity: 0 }`
      return `@keyframes f${name} { ${begins}${percent(from ?? 0)} { opacity: 1 }${ends} }`
    })
    .join('\n  ')
}
