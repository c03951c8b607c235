/**
 * What happened, the latest last: what was done to the fleet, and what it did. The page puts it into words.
 *
 * @typedef {import('./settings.mjs').Side} Side
 * @typedef {import('./shop.mjs').Key} Key
 * @typedef {import('../ways.mjs').WayName} WayName
 * @typedef {import('./scene.mjs').Totals} Totals
 *
 * @typedef {(
 *   | { kind: 'soon', action: string }
 *   | { kind: 'act', action: string, value?: string, shops?: string[] }
 *   | { kind: 'load', side: Side, key: Key, shop: string }
 *   | { kind: 'renewed', side: Side, key: Key }
 *   | { kind: 'cost', event: string, without: Totals, with: Totals }
 *   | { kind: 'trouble', message: string }
 * )} Happening
 *
 * @typedef {Happening & { id: number, at: number, times: number }} Entry  `at` is the time of day, in milliseconds
 */

const most = 60

/** What is folded into one entry happens within this time, in milliseconds. */
const together = 5_000

export class Tape {
  /** @type {Entry[]} */
  entries = []
  #count = 0

  /** @param {Happening} happening */
  add(happening) {
    const at = Date.now()
    const same = this.entries.findLast((entry) => isSame(entry, happening))
    if (same !== undefined && at - same.at < together && !this.#isInterrupted(same)) {
      same.times++
      return
    }
    this.entries.push({ ...happening, id: ++this.#count, at, times: 1 })
    if (this.entries.length > most) this.entries.shift()
  }

  /** Whether something was done since an entry: what follows that is told anew. @param {Entry} entry */
  #isInterrupted(entry) {
    return this.entries.some(({ id, kind }) => id > entry.id && kind === 'act')
  }
}

/** Loads of a key on a side are one entry, and so are renewals. @param {Happening} one @param {Happening} other */
function isSame(one, other) {
  if (one.kind === 'load') return other.kind === 'load' && one.side === other.side && one.key === other.key
  return one.kind === 'renewed' && other.kind === 'renewed' && one.side === other.side && one.key === other.key
}
