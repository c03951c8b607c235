import { keys, lockTtl, processNames, sides } from './settings.mjs'

/**
 * The picture of the fleet that the page shows, made of the reports of its processes.
 *
 * @typedef {import('./settings.mjs').Side} Side
 * @typedef {import('./shop.mjs').SideReport} SideReport
 *
 * @typedef {object} SideFigures
 * @property {number} queriesPerSecond  of the last second
 * @property {number} requests  since the start, or since the last change of the way
 * @property {number} queries
 * @property {number} errors
 * @property {number} outdated
 * @property {number | null} latency  of the last second: 95 of 100 callers waited no longer, in milliseconds
 *
 * @typedef {{ kind: string, text: string, side?: Side }} TapeEntry
 */

const second = 1_000

export class Scene {
  /** @type {Record<Side, Map<string, { at: number, report: SideReport }[]>>} */
  #recent = { without: new Map(), with: new Map() }
  /** @type {Record<Side, { requests: number, queries: number, errors: number, outdated: number }>} */
  #totals = { without: zero(), with: zero() }
  /** @type {Record<Side, Record<string, number>>} */
  #leases = { without: {}, with: {} }
  /** @type {(TapeEntry & { id: number, at: number })[]} */
  #tape = []
  #entries = 0

  /** Counts from zero again. */
  reset() {
    this.#totals = { without: zero(), with: zero() }
  }

  /** @param {string} shop @param {Record<Side, SideReport>} reports */
  add(shop, reports) {
    const now = performance.now()
    for (const side of sides) {
      const report = reports[side]
      const list = this.#recent[side].get(shop) ?? []
      list.push({ at: now, report })
      this.#recent[side].set(
        shop,
        list.filter(({ at }) => at > now - second),
      )
      for (const name of /** @type {const} */ (['requests', 'queries', 'errors', 'outdated'])) {
        this.#totals[side][name] += report[name]
      }
    }
  }

  /** Forgets a process that has gone. @param {string} shop */
  remove(shop) {
    for (const side of sides) this.#recent[side].delete(shop)
  }

  /** @param {TapeEntry} entry */
  note(entry) {
    this.#tape.push({ ...entry, id: ++this.#entries, at: Date.now() })
    if (this.#tape.length > 60) this.#tape.shift()
  }

  /** A lease that lasts longer than a moment ago has been renewed. @param {Record<Side, Record<string, number>>} left */
  addLeases(left) {
    const renewed = Object.entries(left.with).filter(([key, ms]) => {
      const before = this.#leases.with[key] ?? 0
      return before > 0 && ms > before + lockTtl / 10
    })
    this.#leases = left
    if (renewed.length === 0) return
    this.note({ kind: 'renew', side: 'with', text: `Lease renewed: ${renewed.map(([key]) => nameOf(key)).join(', ')}` })
  }

  /** @param {import('./fleet.mjs').Fleet} fleet */
  snapshot({ way, source, isRedisUp, shops, redis }) {
    return {
      at: Date.now(),
      way,
      source,
      redis: { isUp: isRedisUp, isOwn: redis.isOwn },
      sides: { without: this.#figures('without'), with: this.#figures('with') },
      leases: this.#leases,
      processes: processNames.map((name) => ({
        name,
        state: shops.find((shop) => shop.name === name)?.state ?? 'starting',
        without: this.#doing('without', name),
        with: this.#doing('with', name),
      })),
      tape: this.#tape,
    }
  }

  /** @param {Side} side @returns {SideFigures} */
  #figures(side) {
    const now = performance.now()
    const recent = [...this.#recent[side].values()].flat().filter(({ at }) => at > now - second)
    const latencies = recent.flatMap(({ report }) => report.latencies).toSorted((a, b) => a - b)
    return {
      ...this.#totals[side],
      queriesPerSecond: recent.reduce((sum, { report }) => sum + report.queries, 0),
      latency: latencies[Math.floor(latencies.length * 0.95)] ?? null,
    }
  }

  /** What a process does at the moment. @param {Side} side @param {string} shop */
  #doing(side, shop) {
    const last = this.#recent[side].get(shop)?.at(-1)?.report
    const loading = Object.entries(last?.loading ?? {}).filter(([, count]) => count > 0)
    const waiting = Object.values(last?.waiting ?? {}).reduce((sum, count) => sum + count, 0)
    const loads = loading.reduce((sum, [, count]) => sum + count, 0)
    return { loads, keys: loading.map(([key]) => nameOf(key)), waiting: Math.max(0, waiting - loads) }
  }
}

/** @param {string} key */
export function nameOf(key) {
  return keys[/** @type {import('./settings.mjs').Key} */ (key)] ?? key
}

function zero() {
  return { requests: 0, queries: 0, errors: 0, outdated: 0 }
}
