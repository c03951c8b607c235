/**
 * Writes the table of the README: runs the lab, on this machine as it is now, and puts its figures between the comments
 * `lab:begin` and `lab:end`. For a machine that has nothing else to do. With a file as its argument it takes the figures
 * from there (`npm run --silent lab -- --json > file`).
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sources } from '../../examples/stampede-lab/sources.mjs'
import { ways } from '../../examples/stampede-lab/ways.mjs'
import { checkout } from '../../tools/command.mjs'

/**
 * @typedef {import('../../examples/stampede-lab/stampede.mjs').Outcome & { alone: number, ratio: number }} Outcome
 * @typedef {{ setting: Record<string, string | number>, outcomes: Outcome[] }} Results
 */

const [, , file] = process.argv
const json = file === undefined ? runLab() : readFileSync(file, 'utf8')
const readme = join(checkout, 'README.md')
const place = /(?<=<!-- lab:begin -->\n)[^]*(?=<!-- lab:end -->)/
writeFileSync(
  readme,
  readFileSync(readme, 'utf8').replace(place, () => table(JSON.parse(json))),
)

function runLab() {
  return execFileSync(process.execPath, [join(checkout, 'scripts/lab.mjs'), '--json'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** @param {Results} results */
function table({ setting, outcomes }) {
  const columns = /** @type {(keyof typeof sources)[]} */ (Object.keys(sources))
  const lines = /** @type {(keyof typeof ways)[]} */ (Object.keys(ways)).map((way) => {
    const cells = columns.map((source) =>
      cell(outcomes.find((outcome) => outcome.way === way && outcome.source === source)),
    )
    return row([way === 'herdless' ? `**${ways[way].title}**` : ways[way].title, ...cells])
  })
  const callers = Number(setting['processes']) * Number(setting['callersPerProcess'])
  return `${callers} callers in ${setting['processes']} processes ask for one cold key at the same instant.
Each cell holds the queries that reached the database, the time until the last caller had its answer (as a multiple of the time that the source takes alone), and the commands that Redis received.

${row(['', ...columns.map((source) => head(source, outcomes))])}
${row(Array(columns.length + 1).fill('---'))}
${lines.join('\n')}

*Slower than its lease*: the load takes three times as long as the lock and the lease live. *Failing source*: the error is the right answer for every caller.
*Killed leader*: the process that loads is killed half-way (\`kill -9\`), with a lock and a lease of 10 s; its own callers are not counted.

PostgreSQL ${setting['postgres']} (PGlite), Redis ${setting['redis']}, Node.js ${setting['node']}, ${setting['cores']} cores, all on one machine; [how it is measured](examples/stampede-lab/README.md).
`
}

/**
 * @param {keyof typeof sources} source
 * @param {Outcome[]} outcomes
 */
function head(source, outcomes) {
  const { alone = Number.NaN } = outcomes.find((outcome) => outcome.source === source) ?? {}
  const title = sources[source].title.replace(/^an? /i, '')
  return `${title[0]?.toUpperCase()}${title.slice(1)} (${Math.round(alone)} ms alone)<br>queries / × alone / commands`
}

/** @param {Outcome | undefined} outcome */
function cell(outcome) {
  if (outcome === undefined) return ''
  const { source, queries, ratio, commands, errors, callers } = outcome
  const figures = `${queries} / ${ratio.toFixed(ratio < 9.95 ? 1 : 0)} / ${commands}`
  // A failing source is right to give every caller its error.
  const wrong = errors > 0 && source !== 'failing'
  return wrong ? `${figures}; **${errors} of ${callers} callers got an error**` : figures
}

/** @param {string[]} cells */
function row(cells) {
  return `| ${cells.join(' | ')} |`
}
