/**
 * Draws docs/lab.svg, the moving picture of the README, from a run of the real lab: the queries that reach each database
 * while the source is slow, first without protection, then with the lock of the usual tutorial. For a machine that has
 * nothing else to do.
 *
 * node scripts/draw-lab.mjs
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopChildren } from '../examples/stampede-lab/children.mjs'
import { startLive } from '../examples/stampede-lab/live/live.mjs'
import { checkout } from '../tools/command.mjs'

const every = 200
/** What is done when, in milliseconds. @type {[at: number, action: string, value?: string][]} */
const acts = [
  [1_500, 'expire'],
  [6_500, 'way', 'lock'],
  [7_500, 'expire'],
]
const length = 13_000

/** @typedef {{ at: number, way: string, without: [now: number, sum: number], with: [now: number, sum: number] }} Frame */

const frames = await record()
await writeFile(join(checkout, 'docs/lab.svg'), picture(frames))
console.log(`docs/lab.svg has ${frames.length} frames`)
process.exit()

/** @returns {Promise<Frame[]>} */
async function record() {
  const live = await startLive({ isGuided: false })
  const headers = { 'x-herdless-lab': '1' }
  /** @param {string} action @param {string} [value] */
  const act = (action, value = '') => fetch(`${live.url}actions/${action}?value=${value}`, { method: 'POST', headers })
  try {
    await act('slow', 'on')
    await act('way', 'nothing')
    await sleep(3_000)
    const startedAt = performance.now()
    for (const [at, action, value] of acts) void sleep(at).then(() => act(action, value))
    /** @type {Frame[]} */
    const all = []
    const sums = { without: 0, with: 0 }
    let before = live.snapshot().sides
    while (performance.now() - startedAt < length) {
      await sleep(every)
      const { way, sides } = live.snapshot()
      // A change of the way begins the counts again.
      for (const side of /** @type {const} */ (['without', 'with'])) {
        sums[side] += Math.max(0, sides[side].queries - before[side].queries)
      }
      before = sides
      const now = (/** @type {'without' | 'with'} */ side) =>
        /** @type {[number, number]} */ ([sides[side].queriesPerSecond, sums[side]])
      all.push({ at: performance.now() - startedAt, way, without: now('without'), with: now('with') })
    }
    return all
  } finally {
    stopChildren()
    await live.stop()
  }
}

/** @param {Frame[]} all */
function picture(all) {
  const most = Math.max(...all.map((frame) => frame.without[0]), 20)
  const seconds = (length / 1_000).toFixed(1)
  const panels = /** @type {const} */ (['without', 'with']).map((side, index) =>
    panel(all, side, 20 + index * 440, most),
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 884 262" role="img" aria-labelledby="title">
<title id="title">Queries that reach the database when hot keys expire and the source is slow: ${all.at(-1)?.without[1]} without herdless, ${all.at(-1)?.with[1]} with it.</title>
<style>
  text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; fill: #1c1b19 }
  .soft { fill: #5d5a54; font-size: 13px } .head { font-size: 16px; font-weight: 600 }
  .number { font-size: 44px; font-weight: 700; font-variant-numeric: tabular-nums }
  .without .number, .without .way { fill: #b4380f } .with .number, .with .way { fill: #0b6b63 }
  .without path { stroke: #b4380f } .with path { stroke: #0b6b63 } path { fill: none; stroke-width: 2.500 }
  .card { fill: #fff; stroke: #e3e0d9 } .axis { stroke: #e3e0d9 }
  .frame { opacity: 0; animation: ${seconds}s step-end infinite }
  .cover { fill: #fff; animation: reveal ${seconds}s linear infinite }
  @keyframes reveal { from { transform: translateX(0) } to { transform: translateX(392px) } }
  ${keyframes(all)}
  @media (prefers-color-scheme: dark) {
    text { fill: #f1efea } .soft { fill: #aaa69d } .card, .cover { fill: #1e1d1b } .card, .axis { stroke: #34322e }
    .without .number, .without .way { fill: #ff9466 } .with .number, .with .way { fill: #4fd1c1 }
    .without path { stroke: #ff9466 } .with path { stroke: #4fd1c1 }
  }
  @media (prefers-reduced-motion: reduce) {
    .frame, .cover { animation: none } .cover { opacity: 0 } .last { opacity: 1 }
  }
</style>
${panels.join('\n')}
</svg>
`
}

/** @param {Frame[]} all @param {'without' | 'with'} side @param {number} left @param {number} most */
function panel(all, side, left, most) {
  const [width, height, top] = [388, 84, 152]
  const points = all.map(({ at, [side]: [now] }) => {
    return `${((at / length) * width).toFixed(1)} ${(height * (1 - now / most)).toFixed(1)}`
  })
  const title = side === 'with' ? 'With herdless' : 'Without herdless'
  const ways =
    side === 'with'
      ? []
      : changesOf(all, ({ way }) => (way === 'lock' ? 'lock of the usual tutorial' : 'no protection'))
  const sums = changesOf(all, (frame) => `${frame[side][1]}`)
  return `<g class="${side}" transform="translate(${left} 8)">
<rect class="card" width="420" height="246" rx="14"/>
<text class="head" x="16" y="32">${title}</text>
${side === 'with' ? '<text class="soft way" x="16" y="54">cache.getOrLoad(key, loader)</text>' : texts(ways, 'soft way', 54)}
${texts(sums, 'number', 106)}
<text class="soft" x="16" y="130">queries have reached the database</text>
<line class="axis" x1="16" x2="404" y1="${top + height}" y2="${top + height}"/>
<svg x="14" y="${top - 3}" width="392" height="${height + 6}" viewBox="-2 -3 392 ${height + 6}"><path d="M${points.join('L')}"/><rect class="cover" x="-2" y="-3" width="394" height="${height + 6}"/></svg>
</g>`
}

/** @typedef {{ text: string, from: number, to: number }} Shown from one frame up to another one */

/** @param {Frame[]} all @param {(frame: Frame) => string} textOf @returns {Shown[]} */
function changesOf(all, textOf) {
  /** @type {Shown[]} */
  const shown = []
  for (const [index, frame] of all.entries()) {
    const text = textOf(frame)
    const last = shown.at(-1)
    if (last?.text === text) last.to = index + 1
    else shown.push({ text, from: index, to: index + 1 })
  }
  return shown
}

/** @param {Shown[]} shown @param {string} className @param {number} y */
function texts(shown, className, y) {
  return shown
    .map(({ text, from, to }, index) => {
      const last = index === shown.length - 1 ? ' last' : ''
      return `<text class="${className} frame${last}" style="animation-name: f${from}-${to}" x="16" y="${y}">${text}</text>`
    })
    .join('\n')
}

/** @param {Frame[]} all */
function keyframes(all) {
  const shown = [
    ...changesOf(all, ({ way }) => way),
    ...changesOf(all, (frame) => `${frame.without[1]}`),
    ...changesOf(all, (frame) => `${frame.with[1]}`),
  ]
  const names = new Map(shown.map(({ from, to }) => [`f${from}-${to}`, { from, to }]))
  const percent = (/** @type {number} */ frame) => `${((100 * frame) / all.length).toFixed(2)}%`
  return [...names]
    .map(([name, { from, to }]) => {
      const begins = from === 0 ? '' : `0% { opacity: 0 } `
      const ends = to === all.length ? '' : ` ${percent(to)} { opacity: 0 }`
      return `@keyframes ${name} { ${begins}${percent(from)} { opacity: 1 }${ends} }`
    })
    .join('\n  ')
}
