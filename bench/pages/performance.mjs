/** docs/performance.md, of the results of `npm run bench`. */
import { multiple, on, rounded, table } from './table.mjs'

/**
 * @typedef {{ way: string, middle: number, least: number, most: number, ratio: number | null }} Row
 * @typedef {{ name: string, title: string, unit: string, better: 'less' | 'more', rows: Row[] }} Result
 * @typedef {{ date: string, machine: import('./table.mjs').Machine, rounds: number, results: Result[] }} Performance
 */

/** The lines of each section. @type {Record<string, readonly string[]>} */
export const sections = {
  'Hits in the process': ['near', 'memory', 'near-keys', 'near-heap'],
  'Hits in Redis': ['hits-1', 'hits-8', 'hits-64', 'hits-1000', 'value-100', 'value-10000', 'value-1000000', 'tags'],
  'Callers that wait': ['joins', 'waiting', 'waiters', 'loop-pause'],
  Loads: [
    'distinct-keys',
    'many-hits',
    'load-heap',
    'stampede-cold',
    'stampede-warm',
    'slow-loader',
    'uncacheable',
    'limit',
  ],
  Responses: ['response-hit', 'response-miss'],
  'Locks, memory and size': ['lock', 'entry-in-redis', 'bundle', 'import'],
}

/** @param {Performance} performance */
export function performancePage({ date, machine, rounds, results }) {
  const found = new Map(results.map((result) => [result.name, result]))
  const parts = Object.entries(sections).map(([heading, names]) =>
    [`## ${heading}`, ...names.flatMap((name) => found.get(name) ?? []).map(part)].join('\n\n'),
  )
  return `# Performance

The cost of a call, against a floor in the same process: the least work that is possible, or the same work done without the library. The figures of one machine say little; the ratios carry over.

![Hits and locks of herdless, as a multiple of the floor that each is compared with. The tables below have the figures.](performance.svg)

Measured by \`npm run bench\` on ${date}, ${on(machine)}. Each figure is the median of ${rounds} rounds, in which all ways take turns, with the least and the most of them. The row without a ratio is the floor.
[How it compares](comparison.md) has other packages in the same setting.

${parts.join('\n\n')}

## What the figures do not show

- Redis is on the same machine. Over a network the round trip is most of a hit in Redis, and all ways come closer to each other.
- The ways take turns, each alone. A process that does other work has colder caches, and more for the garbage collector to do.
- Callers of hits in Redis walk the same keys one behind the other, so that some of them ask for a key in the same tick and share its read. [How it compares](comparison.md) has callers with keys of their own.
- node-redis is version 6 here. Plain \`GET\`s of version 5 are faster: that version stands in [the comparison](comparison.md#hits).
- The values are small and plain, except where a size is named. There, all callers want one key, and share its reads.
- The machine is a small virtual one. Between two runs a ratio differs by a tenth, and one of hits in Redis by more; the least and the most show by how much within one.
`
}

/** @param {Result} result */
function part({ title, unit, better, rows }) {
  // A line without a floor is compared with a goal, which is nothing that was measured.
  const shown = rows.filter(({ way }) => way !== 'goal')
  const isCompared = shown.length === rows.length && rows.some(({ ratio }) => ratio !== null)
  const head = ['way', `${unit} (${better} is better)`, 'least – most', ...(isCompared ? ['ratio to the floor'] : [])]
  const cells = shown.map(({ way, middle, least, most, ratio }) => [
    way,
    rounded(middle),
    `${rounded(least)} – ${rounded(most)}`,
    ...(isCompared ? [ratio === null ? '' : multiple(ratio)] : []),
  ])
  return `### ${title}\n\n${table(head, cells)}`
}
