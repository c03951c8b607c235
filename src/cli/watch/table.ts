import { many, time } from '../units.ts'
import type { NamedLease } from '../held.ts'
import type { Snapshot } from './snapshot.ts'

/** The size of a terminal, in characters. */
export interface Size {
  readonly columns: number
  readonly rows: number
}

interface Column {
  readonly head: string
  readonly align: 'left' | 'right'
  /** The most characters. */
  readonly most: number
  readonly cell: (lease: NamedLease) => string
}

const columns: readonly Column[] = [
  { head: 'WAITING', align: 'right', most: 10, cell: ({ waiting }) => String(waiting ?? '?') },
  { head: 'AGE', align: 'right', most: 10, cell: ({ age }) => time(age) },
  { head: 'LEFT', align: 'right', most: 10, cell: ({ left }) => time(left) },
  { head: 'RENEWED', align: 'right', most: 10, cell: ({ renewals }) => String(renewals) },
  {
    head: 'PROCESS',
    align: 'left',
    most: 24,
    cell: ({ holder }) => (holder === null ? 'unknown' : `${holder.pid}@${holder.host}`),
  },
  { head: 'NAMESPACE', align: 'left', most: 20, cell: ({ namespace }) => namespace },
]

/** The fewest characters of a key, however narrow the terminal. */
const narrowest = 12

const gap = '  '

/**
 * The lines of a snapshot, as many as the terminal has. Keys are shortened to its width; it cuts off the rest if it is
 * narrower than the other columns.
 * @param pause until the next round, in milliseconds
 */
export function tableOf(
  { time: moment, took, loads, waiting, ended, leases }: Snapshot,
  pause: number,
  { columns: width, rows }: Size,
): readonly string[] {
  const clock = new Date(moment).toTimeString().slice(0, 8)
  const head = [
    `${clock}  ${many(loads, 'load')} under way, waiting processes: ${waiting}, ended since the last look: ${ended}`,
    `This look took ${time(took)}, the next is in ${time(pause)}. Ctrl+C ends it.`,
    '',
  ]
  if (leases.length === 0) return [...head, 'Nothing is being loaded']
  const most = Math.max(1, rows - head.length - 1)
  const shown = leases.length > most ? leases.slice(0, most - 1) : leases
  const rest = leases.length - shown.length
  return [...head, ...linesOf(shown, width), ...(rest === 0 ? [] : [`… and ${rest} more`])]
}

function linesOf(leases: readonly NamedLease[], width: number): readonly string[] {
  const cells = columns.map(({ head, most, align, cell }) => {
    const texts = [head, ...leases.map((lease) => shortened(plain(cell(lease)), most))]
    const widest = Math.max(...texts.map((text) => text.length))
    return texts.map((text) => (align === 'left' ? text.padEnd(widest) : text.padStart(widest)))
  })
  const taken = cells.reduce((sum, [head = '']) => sum + head.length + gap.length, 0)
  const keys = leases.map((lease) => shortened(plain(nameOf(lease)), Math.max(narrowest, width - taken)))
  return ['KEY', ...keys].map((key, row) => [...cells.map((texts) => texts[row]), key].join(gap))
}

function nameOf({ key, version }: NamedLease): string {
  return version === null ? key : `${key} (version ${version})`
}

/** The text without the signs that a terminal would obey, or that change the direction of others. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
}

/** The text with an ellipsis in its middle if it has more characters than these. */
export function shortened(text: string, most: number): string {
  const signs = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment)
  if (signs.length <= most) return text
  const end = Math.floor((most - 1) / 2)
  return [...signs.slice(0, most - 1 - end), '…', ...signs.slice(signs.length - end)].join('')
}
