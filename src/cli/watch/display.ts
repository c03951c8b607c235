import type { WriteStream } from 'node:tty'
import { asJson } from '../lines.ts'
import type { Snapshot } from './snapshot.ts'
import { painted, wrapped } from '../terminal.ts'
import { History } from './history.ts'
import { tableOf, type Line } from './table.ts'

/** The place where snapshots are shown. */
export interface Display {
  /** @param pause until the next snapshot, in milliseconds */
  show(snapshot: Snapshot, pause: number): void
  close(): void
}

/** Prints each snapshot as one line of JSON. */
export const jsonDisplay: Display = { show: (snapshot) => console.log(asJson(snapshot)), close: () => undefined }

/** The second screen of a terminal without a cursor, on which long lines are cut off; and back. */
const enter = '\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l'
const leave = '\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l'

/** Shows the last snapshot as a table that fills a terminal, until it is closed; then it leaves a summary behind. */
export function terminalDisplay(terminal: WriteStream): Display {
  const history = new History()
  let last: { readonly snapshot: Snapshot; readonly pause: number } | null = null
  const draw = (): void => {
    if (last === null) return
    // The size of some terminals is not known, and 0.
    const size = { columns: terminal.columns || 80, rows: terminal.rows || 24 }
    const lines = tableOf(last.snapshot, history, { pause: last.pause, ...size }).map(
      (line) => `${shown(line)}\u{1b}[K`,
    )
    terminal.write(`\u{1b}[H${lines.join('\r\n')}\u{1b}[J`)
  }
  terminal.write(enter)
  terminal.on('resize', draw)
  return {
    show: (snapshot, pause) => {
      last = { snapshot, pause }
      history.add(snapshot)
      draw()
    },
    close: () => {
      terminal.off('resize', draw)
      terminal.write(leave)
      if (last !== null) console.log(wrapped(history.summary))
    },
  }
}

function shown({ text, kind }: Line): string {
  return kind === 'text' ? text : painted(kind === 'head' ? 'bold' : 'dim', text)
}
