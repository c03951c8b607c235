import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { checkout } from '../../tools/command.mjs'

/** What every door promises, in the order of the columns of the table on `docs/doors.md`. */
export const promises = ['cold', 'stale', 'invalidated', 'killed', 'frozen'] as const
export type Promised = (typeof promises)[number]

/** The doors, in the order of the rows, and the suite that runs the cells of each. */
export const doors = {
  getOrLoad: 'doors',
  begin: 'doors',
  Express: 'doors',
  Koa: 'doors',
  Fastify: 'doors',
  Hono: 'doors',
  fetch: 'doors',
  SvelteKit: 'sveltekit',
  H3: 'h3',
  'Nest: @Cached': 'nest',
  'Nest: CACHE_MANAGER': 'nest',
  'Nest: CacheInterceptor': 'nest',
  'Next 16: use cache': 'next',
  'Next 16: ISR': 'next',
  'Next 15: ISR': 'next',
} as const
export type Door = keyof typeof doors

const page = join(checkout, 'docs/doors.md')
const kept = '✓'

/** The rows of the table, by door: its cells after the first. */
export function rowsOfPage(): Map<string, string[]> {
  const lines = readFileSync(page, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ['))
  return new Map(
    lines.map((line) => {
      const [first = '', ...cells] = line
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim())
      return [first.replaceAll(/^\[|\]\(.*\)$|`/g, ''), cells] as const
    }),
  )
}

/**
 * A test has seen that a promise is kept behind a door: so says the cell of the table, or it is not what the suites find.
 * With `WRITE=yes` the cell is written.
 */
export function keeps(door: Door, promise: Promised): void {
  const column = promises.indexOf(promise)
  if (process.env['WRITE'] === 'yes') {
    const isRow = (line: string): boolean =>
      line.startsWith('| [') && line.replaceAll('`', '').startsWith(`| [${door}]`)
    const written = readFileSync(page, 'utf8').replaceAll(/^.*$/gm, (line) => {
      if (!isRow(line)) return line
      const cells = line.slice(2, -2).split(' | ')
      return `| ${cells.with(column + 1, kept).join(' | ')} |`
    })
    writeFileSync(page, written)
  }
  expect(rowsOfPage().get(door)?.[column], `${promise} of ${door} on docs/doors.md`).toBe(kept)
}
