/**
 * Writes docs/api.md: every export of every entry of package.json, with the first sentence of its doc comment and a link to
 * the section of the pages that explains it. `--check` only checks the file.
 */
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { API, SymbolFlags } from 'typescript/unstable/sync'
import { anchorOf } from '../tools/anchor.mjs'
import { checkout } from '../tools/command.mjs'
import { writeOrCheck } from '../tools/written.mjs'

/**
 * @typedef {{ name: string, kind: string, meaning: string }} Export
 * @typedef {{ page: string, title: string, anchor: string, text: string }} Section
 */

const sections = await allSections()
const frameworks = new Set(['fastify', 'fetch', 'hono', 'koa', 'nest', 'next'])
const lists = new Set(['Types', 'Benchmarks'])
/** @type {string[]} */
const missing = []
const text = await page()
if (missing.length > 0) throw new Error(`These exports are on no page: ${missing.join(', ')}`)
await writeOrCheck('docs/api.md', text)

async function page() {
  const entries = await allExports()
  const list = entries.map(({ entry }) => `[${entry}](#${anchorOf(entry)})`)
  return `# API reference

Every export of the package, by the entry that it is imported from. Each name leads to the section that explains it. \`scripts/write-api.mjs\` writes this page from the source, and a test holds it to that.

- ${list.join(' · ')}

${entries.map(({ entry, exports }) => tableOf(entry, exports)).join('\n')}`
}

/**
 * @param {string} entry
 * @param {Export[]} exports
 */
function tableOf(entry, exports) {
  const rows = exports.map(
    ({ name, kind, meaning }) => `| [\`${name}\`](${linkTo(name, entry)}) | ${kind} | ${meaning} |`,
  )
  return `## ${entry}\n\n| name | kind | meaning |\n|---|---|---|\n${rows.join('\n')}\n`
}

/** The exports of each entry of package.json, values before types. */
async function allExports() {
  const { exports } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8'))
  const api = new API({ cwd: checkout })
  try {
    const config = join(checkout, 'tsconfig.build.json')
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
    if (project === undefined) throw new Error(`TypeScript finds no project in ${config}`)
    const { checker, program } = project
    return Object.entries(exports).flatMap(([path, { import: built }]) => {
      if (built === undefined) return []
      const source = program.getSourceFile(join(checkout, built.replace('./dist/esm', 'src').replace('.js', '.ts')))
      const module = source && checker.getSymbolAtLocation(source)
      if (module === undefined) throw new Error(`${path} has no source`)
      const exports = checker.getExportsOfModule(module).map((symbol) => {
        const meant = symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
        const meaning = firstSentence(checker.getDocumentationCommentOfSymbol(meant))
        return { name: symbol.name, kind: kindOf(meant.flags), meaning }
      })
      const isType = (/** @type {Export} */ { kind }) => kind === 'type' || kind === 'interface'
      return [
        {
          entry: path.replace('.', 'herdless'),
          exports: [...exports.filter((one) => !isType(one)), ...exports.filter(isType)],
        },
      ]
    })
  } finally {
    api.close()
  }
}

/** @param {number} flags */
function kindOf(flags) {
  if (flags & SymbolFlags.Function) return 'function'
  if (flags & SymbolFlags.Class) return 'class'
  if (flags & SymbolFlags.Variable) return 'constant'
  return flags & SymbolFlags.Interface ? 'interface' : 'type'
}

/** @param {string} comment */
function firstSentence(comment) {
  const line = comment.replaceAll(/\s+/g, ' ').trim()
  return (/^.*?\.(?= [A-Z`]|$)/.exec(line)?.[0] ?? line).replaceAll('|', '\\|')
}

/** All sections of the pages, in the order of docs/README.md. */
async function allSections() {
  const index = await readFile(join(checkout, 'docs/README.md'), 'utf8')
  const pages = [...new Set([...index.matchAll(/\]\(([\w-]+\.md)\)/g)].map((match) => String(match[1])))]
  // Pages that introduce others, and this one.
  const explain = pages.filter((page) => !/^(start|steps|do-you|doors|hot-key|penetration|avalanche|api)/.test(page))
  const texts = await Promise.all(explain.map((page) => readFile(join(checkout, 'docs', page), 'utf8')))
  return explain.flatMap((page, index) =>
    /** @type {string} */ (texts[index])
      .replaceAll(/^```sh\n[^]*?^```$/gm, '')
      .split(/^(?=#+ )/m)
      .map((text) => {
        const title = /^#+ (.*)/.exec(text)?.[1] ?? ''
        return { page, title, anchor: text.startsWith('# ') ? '' : `#${anchorOf(title)}`, text }
      }),
  )
}

/**
 * Where a name is explained best. Of sections of the same rank, that which names it most often.
 * @param {string} name
 * @param {string} entry
 */
function linkTo(name, entry) {
  const found = sections
    .map((section) => ({ section, rank: rankOf(section, name, entry), mentions: mentionsOf(name, section) }))
    .filter(({ mentions }) => mentions > 0)
    .toSorted((one, other) => one.rank - other.rank || other.mentions - one.mentions)[0]?.section
  if (found === undefined) missing.push(name)
  return found === undefined ? '' : `${found.page}${found.anchor}`
}

/**
 * A section on the page of a framework is best for what is imported for that; then one with the name as its title; then one
 * with a row for it. Lists of types and of figures say least.
 * @param {Section} section
 * @param {string} name
 * @param {string} entry
 */
function rankOf({ page, title, text }, name, entry) {
  if (page === `${basename(entry)}.md` && frameworks.has(basename(entry))) return 0
  if (lists.has(title)) return 4
  if (isTitle(title, name)) return 1
  if (text.includes(`\n| \`${name}\``) || text.includes(`\n| \`${name}(`)) return 2
  return 3
}

/**
 * Whether a section is about a function: "A virtual fleet" is about `virtualFleet`. A type may have the name of a thing that
 * a title is about.
 * @param {string} title
 * @param {string} name
 */
function isTitle(title, name) {
  const words = title.toLowerCase().replace(/^(an?|the) /, '')
  return /^[a-z]/.test(name) && words.replaceAll(' ', '') === name.toLowerCase()
}

/**
 * How often a section names it, in its sentences and in its code.
 * @param {string} name
 * @param {Section} section
 */
function mentionsOf(name, { title, text }) {
  const mentions = text.match(new RegExp(`\`${name}[\`(<]|\\b${name}\\(`, 'g')) ?? []
  return mentions.length + (isTitle(title, name) ? 1 : 0)
}
