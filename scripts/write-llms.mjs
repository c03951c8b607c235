/**
 * Writes llms.txt (llmstxt.org) from the summary of the README and the lists in docs/README.md. `--check` only
 * checks the file.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkout } from '../tools/command.mjs'
import { writeOrCheck } from '../tools/written.mjs'

const readme = await readFile(join(checkout, 'README.md'), 'utf8')
const index = await readFile(join(checkout, 'docs/README.md'), 'utf8')
const [, summary = ''] = /^# herdless\n\n([^]*?)(?: \[简体中文\].*)?\n\n/.exec(readme) ?? []
const text = `# herdless

> ${summary.replaceAll('\n', '\n> ')}

The links are relative to the root of the repository. The tests run the JavaScript and TypeScript on these pages. [SKILL.md](SKILL.md) says in short how to use herdless.

${index.split('\n## ').slice(1).map(section).join('\n')}- [Changelog](CHANGELOG.md): The changes of each version.
- [Contributing](CONTRIBUTING.md): The layout of the source, and the way of a call through it.
`

await writeOrCheck('llms.txt', text)

/**
 * The examples come last: a reader with little room may leave them out.
 * @param {string} part  a section of docs/README.md
 */
function section(part) {
  const [heading = '', ...lines] = part.split('\n')
  const items = lines.filter((line) => line.startsWith('| [')).flatMap(itemsOf)
  return `## ${heading === 'Examples' ? 'Optional' : heading}\n\n${items.join('\n')}\n`
}

/**
 * One line for each page of a row of a table.
 * @param {string} row
 */
function itemsOf(row) {
  const [pages = '', contents = ''] = row
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim())
  const notes = contents.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return [...pages.matchAll(/\[([^\]]*)\]\(([^)]*)\)/g)].map(([, title, path = '']) => {
    return `- [${title}](${path.startsWith('../') ? path.slice(3) : `docs/${path}`}): ${notes}`
  })
}
