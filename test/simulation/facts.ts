import { History, type Call, type Load, type Write } from '../support/history.ts'
import type { Run } from './simulate.ts'
import { surroundingsOf, type Surroundings } from './surroundings.ts'

/** All that a run is judged by. */
export interface Facts extends Run, Surroundings {
  readonly history: History
}

export function factsOf(run: Run): Facts {
  return { ...run, history: new History(run.notes.happenings), ...surroundingsOf(run.schedule) }
}

export function said(what: Call | Load | Write): string {
  const id = what.what === 'call' ? what.call : what.what === 'load' ? what.load : what.write
  return `${what.what} ${id} of ${what.key} in process ${what.process} at ${what.at.toFixed(1)}`
}

/** A row of voided loads ends when nothing was voided for so long, in milliseconds. */
const rowEndsAfter = 10_000

/** How many loads of a key may have been voided one after the other up to a moment: by writes, and where a cache closed. */
export function voidedInARow({ history, notes }: Facts, key: string, until: number): number {
  const writes = [...history.writes.values()].filter((write) => write.key === key && write.at < until)
  const ends = [...writes.map(({ writtenAt }) => writtenAt), ...[...notes.closing.values()].map(({ at }) => at)]
  let since = until
  let row = 0
  for (const at of ends.map((end) => Math.min(end, until)).toSorted((one, other) => other - one)) {
    if (at < since - rowEndsAfter) break
    since = at
    row++
  }
  return row
}
