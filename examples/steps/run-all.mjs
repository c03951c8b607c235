/**
 * Runs all steps and prints the cost of each; with `--write` it puts that into docs/steps.md, with the code of the steps.
 * For a machine that has nothing else to do. `--write=code` writes the code alone, and runs nothing.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkout } from '../../tools/command.mjs'

/**
 * @typedef {{ callers: number, queries: number, commands: number, slowest: number, alone: number }} Figures
 * @typedef {{ name: string, title: string, code: string, printed: string }} Step
 */

const folder = join(checkout, 'examples/steps')
const page = join(checkout, 'docs/steps.md')
const runs = 3

/** @returns {Step[]} */
function steps() {
  return readdirSync(folder)
    .filter((name) => /^\d/.test(name))
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      const title = /^ \* (.*?)\.? It prints$/m.exec(text)?.[1] ?? name
      const printed = [...text.matchAll(/^ \* {3}(.*)$/gm)].map((match) => match[1]).join('\n')
      const [, setUp = ''] = /^(const setUp = [^]*?)^(?:\/\*\*|await run)/m.exec(text) ?? []
      // Types are for the checker, and not for those who read the page.
      const code = setUp
        .trim()
        .replaceAll(/^ *\/\*\* @.*\*\/\n/gm, '')
        .replaceAll(/\/\*\* @\w+ .*? \*\/ \((.*?)\)/g, '$1')
      return { name, title, code, printed }
    })
}

/**
 * The difference between the code of two steps, with all lines.
 * @param {string} before
 * @param {string} after
 */
function difference(before, after) {
  const folder = mkdtempSync(join(tmpdir(), 'herdless-steps-'))
  try {
    const [from, to] = [join(folder, 'from'), join(folder, 'to')]
    writeFileSync(from, `${before}\n`)
    writeFileSync(to, `${after}\n`)
    const { stdout } = spawnSync('git', ['diff', '--no-index', '--no-color', '-U100', from, to], { encoding: 'utf8' })
    return stdout.slice(stdout.indexOf('\n', stdout.indexOf('@@')) + 1).trimEnd()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/**
 * The page with the code of the steps as it is now.
 * @param {string} text
 */
export function withCode(text) {
  const all = steps()
  return all.reduce((page, { name, code, printed }, index) => {
    const before = all[index - 1]?.code
    const shown =
      before === undefined ? `\`\`\`diff\n${code.replaceAll(/^/gm, ' ')}` : `\`\`\`diff\n${difference(before, code)}`
    return between(page, name, `${shown}\n\`\`\`\n\n\`\`\`text\n${printed}\n\`\`\`\n`)
  }, text)
}

/**
 * @param {string} page
 * @param {string} name
 * @param {string} text
 */
function between(page, name, text) {
  const place = new RegExp(`(?<=<!-- ${name}:begin -->\n)[^]*(?=<!-- ${name}:end -->)`)
  if (!place.test(page)) throw new Error(`docs/steps.md has no place for ${name}`)
  return page.replace(place, () => text)
}

/** @returns {Figures} */
function measure(/** @type {string} */ name) {
  const all = Array.from({ length: runs }, () => {
    const printed = execFileSync(process.execPath, [join(folder, name), '--json'], { encoding: 'utf8' })
    return /** @type {Figures} */ (JSON.parse(printed).figures)
  })
  const sorted = all.toSorted((one, other) => one.slowest / one.alone - other.slowest / other.alone)
  return /** @type {Figures} */ (sorted[Math.floor(runs / 2)])
}

function table() {
  const lines = steps().map(({ name, title }) => {
    const { callers, queries, commands, slowest, alone } = measure(name)
    const times = (slowest / alone).toFixed(slowest / alone < 9.95 ? 1 : 0)
    const cells = [`[${name}](../examples/steps/${name})`, title, `${queries} of ${callers}`, times, commands]
    return `| ${cells.join(' | ')} |`
  })
  return `| step | | queries | slowest answer, × the query alone | commands |
|---|---|---|---|---|
${lines.join('\n')}

The middle one of ${runs} runs with Node.js ${process.versions.node}, PostgreSQL (PGlite) and Redis on one machine with ${availableParallelism()} cores.
`
}

const write = process.argv.find((word) => word.startsWith('--write'))
if (import.meta.filename === process.argv[1]) {
  const figures = write === '--write=code' ? undefined : table()
  if (figures !== undefined) console.log(figures)
  if (write !== undefined) {
    const text = withCode(readFileSync(page, 'utf8'))
    writeFileSync(page, figures === undefined ? text : between(text, 'figures', figures))
  }
}
