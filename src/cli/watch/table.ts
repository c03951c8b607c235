import type { NamedLease } from '../held.ts'
import { linesOf, plain } from '../terminal.ts'
import { many, time } from '../units.ts'
import { clock, type History, type WatchedKey } from './history.ts'
import type { Snapshot } from './snapshot.ts'

/** The size of a terminal, in characters. */
export interface Size {
  readonly columns: number
  readonly rows: number
}

/** A line, and how it is shown. */
export interface Line {
  readonly text: string
  readonly kind: 'text' | 'head' | 'over'
}

interface Column {
  readonly head: string
  readonly align: 'left' | 'right'
  /** The most characters. */
  readonly most: number
  readonly cell: (key: WatchedKey, now: number) => string
}

const columns: readonly Column[] = [
  { head: 'WAITING', align: 'right', most: 10, cell: ({ lease, endedAt }) => whileHeld(endedAt, lease.waiting ?? '?') },
  { head: 'PEAK', align: 'right', most: 10, cell: ({ peak }) => String(peak) },
  { head: 'LOADS', align: 'right', most: 10, cell: ({ loads }) => String(loads) },
  {
    head: 'AGE',
    align: 'right',
    most: 10,
    cell: ({ lease, endedAt }) => (endedAt === null ? time(lease.age) : 'ended'),
  },
  {
    head: 'LEFT',
    align: 'right',
    most: 10,
    cell: ({ lease, endedAt }, now) => (endedAt === null ? time(lease.left) : `${time(now - endedAt)} ago`),
  },
  { head: 'RENEWED', align: 'right', most: 10, cell: ({ lease }) => String(lease.renewals) },
  {
    head: 'PROCESS',
    align: 'left',
    most: 24,
    cell: ({ lease: { holder } }) => (holder === null ? 'unknown' : `${holder.pid}@${holder.host}`),
  },
  { head: 'NAMESPACE', align: 'left', most: 20, cell: ({ lease }) => lease.namespace },
]

function whileHeld(endedAt: number | null, told: string | number): string {
  return endedAt === null ? String(told) : ''
}

/** The fewest characters of a key, however narrow the terminal. */
const narrowest = 12

const gap = '  '

/**
 * The lines of a snapshot, as many as the terminal has. Keys are shortened to its width; it cuts off the rest if it is
 * narrower than the other columns.
 * @param history which ends with the snapshot
 * @param pause until the next round, in milliseconds
 */
export function tableOf(
  { time: moment, took, loads, waiting, ended }: Snapshot,
  history: History,
  { pause, columns: width, rows }: Size & { readonly pause: number },
): readonly Line[] {
  const head = [
    `${clock(moment)}  ${many(loads, 'load')} under way, waiting processes: ${waiting}, ended since the last look: ${ended}`,
    `This look took ${time(took)}, the next is in ${time(pause)}. Ctrl+C ends it.`,
  ].flatMap((line) => linesOf(line, width))
  const begin = [...head, ''].map(asText)
  const { keys } = history
  if (keys.length === 0) return [...begin, asText('Nothing is being loaded')]
  const most = Math.max(1, rows - begin.length - 1)
  const shown = keys.length > most ? keys.slice(0, most - 1) : keys
  const rest = keys.length - shown.length
  return [...begin, ...rowsOf(shown, history.now, width), ...(rest === 0 ? [] : [asText(`… and ${rest} more`)])]
}

function asText(text: string): Line {
  return { text, kind: 'text' }
}

function rowsOf(keys: readonly WatchedKey[], now: number, width: number): readonly Line[] {
  const cells = columns.map(({ head, most, align, cell }) => {
    const texts = [head, ...keys.map((key) => shortened(plain(cell(key, now)), most))]
    const widest = Math.max(...texts.map((text) => text.length))
    return texts.map((text) => (align === 'left' ? text.padEnd(widest) : text.padStart(widest)))
  })
  const taken = cells.reduce((sum, [head = '']) => sum + head.length + gap.length, 0)
  const names = keys.map(({ lease }) => shortened(plain(nameOf(lease)), Math.max(narrowest, width - taken)))
  return ['KEY', ...names].map((name, row) => ({
    text: [...cells.map((texts) => texts[row]), name].join(gap),
    kind: row === 0 ? 'head' : keys[row - 1]?.endedAt === null ? 'text' : 'over',
  }))
}

function nameOf({ key, version }: NamedLease): string {
  return version === null ? key : `${key} (version ${version})`
}

/** The text with an ellipsis in its middle if it has more characters than these. */
export function shortened(text: string, most: number): string {
  const signs = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment)
  if (signs.length <= most) return text
  const end = Math.floor((most - 1) / 2)
  return [...signs.slice(0, most - 1 - end), '…', ...signs.slice(signs.length - end)].join('')
}
