import { createHash } from 'node:crypto'
import { dirname, join, normalize } from 'node:path'
import { docs, type Doc } from './markdown.ts'

/** The paths of a page in Chinese, and of the page in English that it is a translation of. */
export interface Pair {
  readonly original: string
  readonly translation: string
}

/** README.zh-CN.md, and each page in docs/zh. */
export function pairs(): readonly Pair[] {
  return docs().flatMap(({ path }) => {
    const original = originalOf(path)
    return original === undefined ? [] : [{ original, translation: path }]
  })
}

/** The English page of a Chinese one; `undefined` for any other page. */
export function originalOf(path: string): string | undefined {
  if (path === 'README.zh-CN.md') return 'README.md'
  return path.startsWith('docs/zh/') ? path.replace('/zh/', '/') : undefined
}

/** The comment by which a translation names the revision of its original that it was last compared with: the present one. */
export function marker(original: Doc): string {
  // Tables of measurements are written into both pages by one script.
  const words = original.prose.replace(/<!-- (lab|peers):begin -->[^]*<!-- \1:end -->/, '').replaceAll(/\s+/g, ' ')
  return `<!-- of ${original.path} ${createHash('sha256').update(words.trim()).digest('hex').slice(0, 12)} -->`
}

/** All comments of that form. */
export const markers = /<!-- of \S+ [0-9a-f]+ -->/g

/** The parts of a section that are the same in every language. */
export interface Section {
  /** 1 to 6; 0 before the first heading. */
  readonly rank: number
  /** Tables, rows and cells. */
  readonly tables: readonly (readonly (readonly Cell[])[])[]
  /** Each number once, sorted; and so the code. */
  readonly figures: readonly string[]
  readonly code: readonly string[]
}

interface Cell {
  /** All numbers, sorted; and so the code. */
  readonly figures: readonly string[]
  readonly code: readonly string[]
}

export function sections({ prose }: Doc): Section[] {
  return prose.split(/^(?=#{1,6} )/m).map((text) => ({
    rank: /^#*/.exec(text)?.[0].length ?? 0,
    tables: tables(text),
    figures: [...new Set(figures(text))],
    code: [...new Set(code(text))],
  }))
}

function tables(text: string): Cell[][][] {
  return [...text.matchAll(/(?:^\|.*\n?)+/gm)].map(([table]) =>
    table
      .trim()
      .split('\n')
      .map((row) => row.slice(1, -1).split('|'))
      .map((cells) => cells.map((cell) => ({ figures: figures(cell), code: code(cell) }))),
  )
}

/** The numbers in the words: not those in code, in the targets of links, or in tags. */
function figures(text: string): string[] {
  const words = text.replaceAll(/`[^`\n]*`|\]\([^()\s]+\)|<[^>]*>/g, ' ')
  return (words.match(/\d+(?:[.,]\d+)*/g) ?? []).toSorted()
}

function code(text: string): string[] {
  return (text.match(/`[^`\n]*`/g) ?? []).toSorted()
}

/** Where the links of a page lead, as paths from the root of the checkout, sorted. */
export function targets({ path, links }: Doc): string[] {
  return links
    .map((link) => {
      if (/^(https?|mailto):/.test(link)) return link
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? path : normalize(join(dirname(path), file))
      return anchor === undefined ? target : `${target}#${anchor}`
    })
    .toSorted()
}
