/**
 * The pages of the site: the documents of the checkout, and each file that they link to, so that every link stays on
 * the site.
 */
import { existsSync, statSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { diagramOf } from './diagram.mjs'
import { homeOf } from './home.mjs'

const checkout = fileURLToPath(new URL('..', import.meta.url))
const pages = join(checkout, 'site/pages')

/** The documents from which the site begins; all others are reached from them. */
const first = ['README.md', 'README.zh-CN.md', 'docs/README.md', 'docs/zh/README.md', 'LICENSE']

const images = new Set(['.svg', '.png'])

/**
 * Writes all pages anew.
 * @param {string} base the path under which the site is served, with slashes at both ends
 * @returns {Promise<string[]>} the files of the checkout that have a page
 */
export async function writePages(base) {
  await rm(pages, { recursive: true, force: true })
  const written = new Set()
  const toDo = [...first]
  for (let path = toDo.pop(); path !== undefined; path = toDo.pop()) {
    if (written.has(path)) continue
    written.add(path)
    toDo.push(...(await writePage(path, base)))
  }
  await writeList(base)
  return [...written]
}

/**
 * Writes the page of a file or folder.
 * @param {string} path from the root of the checkout
 * @param {string} base
 * @returns {Promise<string[]>} the paths that it links to
 */
async function writePage(path, base) {
  const target = join(pages, pageOf(path))
  await mkdir(dirname(target), { recursive: true })
  if (images.has(extname(path))) {
    await copyFile(join(checkout, path), target)
    return []
  }
  const { text, links, pictures = [] } = await contentOf(path, base)
  await writeFile(target, text)
  for (const [name, picture] of pictures) await writeFile(join(dirname(target), name), picture)
  return links
}

/**
 * @typedef {object} Content
 * @property {string} text
 * @property {string[]} links the paths that it links to
 * @property {[name: string, picture: string][]} [pictures] that belong beside it
 *
 * @param {string} path
 * @param {string} base
 * @returns {Promise<Content>}
 */
async function contentOf(path, base) {
  if (isFolder(path)) return await folderContent(path)
  const text = await readFile(join(checkout, path), 'utf8')
  if (extname(path) !== '.md') return { text: codePage(path, text), links: [] }
  const { text: linked, links } = withLinks(path, text)
  const home = homeOf(path, linked)
  if (home !== undefined) return { text: home.replaceAll('__BASE__', base), links }
  return { ...(await withDiagrams(path, withTabs(linked))), links }
}

/**
 * Blocks between two comments, each under its name in italics, are tabs.
 * @param {string} text
 */
function withTabs(text) {
  return text.replaceAll(/^<!-- tabs:begin -->\n([^]*?)<!-- tabs:end -->$/gm, (_, blocks) => {
    const named = blocks.replaceAll(/^\*(.+)\*\n\n```(\w+)$/gm, '```$2 [$1]')
    return `::: code-group\n\n${named}\n:::`
  })
}

/**
 * Diagrams are drawn, as pictures beside the page.
 * @param {string} path
 * @param {string} text
 */
async function withDiagrams(path, text) {
  /** @type {[name: string, picture: string][]} */
  const pictures = []
  let drawn = text
  for (const [block, source = ''] of text.matchAll(/^```mermaid\n([^]*?)^```$/gm)) {
    const name = `${basename(path, '.md')}-${pictures.length + 1}.svg`
    const { picture, words } = await diagramOf(source)
    pictures.push([name, picture])
    drawn = drawn.replace(block, () => `![${words}](./${name})`)
  }
  return { text: drawn, pictures }
}

/** @param {string} path */
async function folderContent(path) {
  const entries = await readdir(join(checkout, path), { withFileTypes: true })
  const found = entries
    .filter(({ name }) => !name.startsWith('.'))
    .map((entry) => posix.join(path, entry.name, entry.isFile() ? '' : 'README.md').replace(/\/$/, ''))
    .filter((each) => existsSync(join(checkout, each)))
    .toSorted()
  const list = found.map((link) => `- [${posix.relative(path, link)}](${addressOf(link)})`)
  return { text: ['---', 'search: false', '---', `# ${path}`, '', ...list, ''].join('\n'), links: found }
}

/** @param {string} path @param {string} text */
function codePage(path, text) {
  const language =
    { '.mjs': 'js', '.ts': 'ts', '.lua': 'lua', '.json': 'json', '.yml': 'yaml' }[extname(path)] ?? 'text'
  return [
    '---',
    'search: false',
    'outline: false',
    'aside: false',
    '---',
    `# ${path}`,
    '',
    `\`\`\`\`\`${language}`,
    text.trimEnd(),
    '`````',
    '',
  ].join('\n')
}

/**
 * A document whose links lead to pages of the site.
 * @param {string} path
 * @param {string} text
 */
function withLinks(path, text) {
  /** @type {string[]} */
  const links = []
  // Blocks of code, and code in a line, are left as they are, but for what the tests are told after the language.
  const linked = text.replaceAll(
    /^(`{3,})(\w*).*$([^]*?^\1$)|`[^`\n]*`|\]\(([^()\s]+)\)/gm,
    (whole, fence, language, code, link) => {
      if (fence !== undefined) return `${fence}${language}${code}`
      if (link === undefined || /^(https?:|mailto:|#)/.test(link)) return whole
      const [file, anchor] = link.split('#')
      const target = posix.join(dirname(path), file).replace(/\/$/, '')
      links.push(target)
      return `](${addressOf(target)}${anchor === undefined ? '' : `#${anchor}`})`
    },
  )
  return { text: linked, links }
}

/** The address of the page of a file, from the root of the site. @param {string} path */
function addressOf(path) {
  return `/${pageOf(path)}`
}

/**
 * The Markdown file of the page of a file of the checkout.
 * @param {string} path
 */
export function pageOf(path) {
  switch (path) {
    case 'README.md':
      return 'index.md'
    case 'README.zh-CN.md':
      return 'zh/index.md'
    case 'docs/README.md':
      return 'contents.md'
    case 'docs/zh/README.md':
      return 'zh/contents.md'
  }
  const name = path.replace(/^docs\//, '')
  if (images.has(extname(path))) return name
  if (basename(path) === 'README.md') return `${dirname(name)}/index.md`
  if (extname(path) === '.md') return dirname(name) === '.' ? name.toLowerCase() : name
  return `files/${isFolder(path) ? `${path}/index` : path}.md`
}

/** The list for language models, with the addresses of the site. @param {string} base */
async function writeList(base) {
  const text = await readFile(join(checkout, 'llms.txt'), 'utf8')
  const { text: linked } = withLinks('llms.txt', text)
  await mkdir(join(pages, 'public'), { recursive: true })
  await writeFile(join(pages, 'public/llms.txt'), linked.replaceAll(/\]\(\/(.*?)\.md/g, `](${base}$1.html`))
}

/** @param {string} path */
function isFolder(path) {
  return statSync(join(checkout, path)).isDirectory()
}
