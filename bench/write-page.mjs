/**
 * Writes docs/performance.md from the results of `npm run bench -- --json <file>`: `node bench/write-page.mjs <file>`.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {{ way: string, middle: number, least: number, most: number, ratio: number | null, goal?: number }} Row
 * @typedef {{ title: string, unit: string, better: 'less' | 'more', rows: Row[] }} Result
 * @typedef {{ machine: { node: string, cpu: string, cores: number }, rounds: number, results: Result[] }} Results
 */

const { machine, rounds, results } = /** @type {Results} */ (
  JSON.parse(await readFile(process.argv[2] ?? 'results.json', 'utf8'))
)
const page = `# Performance

What a call costs, against a floor in the same process: the work that cannot be less, or what an application would do without the library. The figures of one machine say little; the ratios carry over.

Measured by \`npm run bench\` with Node.js ${machine.node.slice(1)} on ${machine.cores} cores (${machine.cpu}), with Redis on the same machine. Each figure is the median of ${rounds} rounds, in which all ways take turns, with the least and the most of them.

${results.map(section).join('\n\n')}

## What the figures do not show

- Redis is on the same machine. Over a network the round trip is most of a hit in Redis, and all ways come closer to each other.
- The ways take turns, each alone. A process that does other work has colder caches, and more for the garbage collector to do.
- The values are small and plain, except where a size is named.
- The machine is a small virtual one. Between two runs a ratio differs by a tenth; the least and the most show by how much within one.
`
await writeFile(fileURLToPath(new URL(join('..', 'docs', 'performance.md'), import.meta.url)), page)

/** @param {Result} result */
function section({ title, unit, better, rows }) {
  const lines = rows.map(({ way, middle, least, most, ratio, goal }) => {
    const cells = [way, rounded(middle), `${rounded(least)} – ${rounded(most)}`, ratio === null ? '' : ratio.toFixed(2)]
    return `| ${[...cells, goal === undefined ? '' : `${better === 'less' ? 'at most' : 'at least'} ${goal}`].join(' | ')} |`
  })
  return [
    `## ${title}`,
    '',
    `| | ${unit} | least – most | ratio to the floor | goal |`,
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n')
}

/** @param {number} figure */
function rounded(figure) {
  return figure >= 100 ? Math.round(figure).toLocaleString('en') : String(Number(figure.toPrecision(3)))
}
