import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { anchorOf } from '../../tools/anchor.mjs'
import { checkout } from '../../tools/command.mjs'

/** One of the documents that are written for people, without those that belong to the lab. */
export interface Doc {
  /** Its path from the root of the checkout. */
  readonly path: string
  readonly text: string
  readonly blocks: readonly Block[]
  /** The text without its blocks. */
  readonly prose: string
  /** Targets of links, as they stand. */
  readonly links: readonly string[]
  /** Anchors that a link can lead to: those of the headings, and the older ones that stand above them. */
  readonly anchors: readonly string[]
}

/** A fenced block of code. */
export interface Block {
  /** The document and the line that it begins on: `README.md:12`. */
  readonly place: string
  readonly language: string
  /** What stands after the language: `in=cache`. */
  readonly info: string
  readonly code: string
}

export function docs(): readonly Doc[] {
  const inFolder = readdirSync(join(checkout, 'docs'), { recursive: true, encoding: 'utf8' })
  const paths = [
    'README.md',
    'README.zh-CN.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'SKILL.md',
    ...inFolder.map((name) => `docs/${name}`),
  ]
  return paths.filter((path) => path.endsWith('.md')).map(doc)
}

export function doc(path: string): Doc {
  return parsed(path, readFileSync(join(checkout, path), 'utf8'))
}

export function parsed(path: string, text: string): Doc {
  const { blocks, prose } = split(path, text)
  const words = prose.replaceAll(/`[^`\n]*`/g, '')
  const links = [...words.matchAll(/\]\(([^()\s]+)\)/g)].map((match) => match[1] as string)
  const headings = [...prose.matchAll(/^#+ +(.*)$/gm)].map((match) => match[1] as string)
  const ids = [...prose.matchAll(/^<a id="([\w-]+)"><\/a>$/gm)].map((match) => match[1] as string)
  return { path, text, blocks, prose, links, anchors: [...headings.map(anchorOf), ...ids] }
}

/** The fences of the CommonMark specification, but only those at the beginning of a line: none can be overlooked. */
function split(path: string, text: string): { blocks: Block[]; prose: string } {
  const blocks: Block[] = []
  const prose: string[] = []
  let open: { fence: string; block: Block; code: string[] } | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const place = `${path}:${index + 1}`
    if (open !== undefined) {
      if (line.trimEnd() === open.fence) {
        blocks.push({ ...open.block, code: open.code.join('\n') })
        open = undefined
      } else open.code.push(line)
      continue
    }
    const [, indent, fence, language, info] = /^([\s>*+-]*)(`{3,}|~{3,})\s*(\S*)\s*(.*)$/.exec(line) ?? []
    if (fence === undefined) {
      prose.push(line)
      continue
    }
    if (indent !== '') throw new Error(`${place}: a fence begins at the beginning of a line`)
    open = { fence, block: { place, language: language ?? '', info: info ?? '', code: '' }, code: [] }
  }
  if (open !== undefined) throw new Error(`${open.block.place}: this fence is never closed`)
  return { blocks, prose: prose.join('\n') }
}

/** The first cells of the rows of all tables whose header begins with `head`, without their backticks. */
export function rows(text: string, head: string): string[][] {
  const found: string[][] = []
  let inside = false
  for (const line of text.split('\n')) {
    if (!line.startsWith('|')) {
      inside = false
      continue
    }
    const cells = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim())
    if (cells[0] === head) inside = true
    else if (inside && !/^:?-+:?$/.test(cells[0] ?? '')) found.push(cells)
  }
  return found
}

/** The first piece of code in a cell: `ttl` of `` `ttl(duration)` ``. */
export function named(cell: string | undefined): string {
  return /`([^`]*)`/.exec(cell ?? '')?.[1] ?? ''
}
