import { allKeys, lockTtl, processNames, reportEvery, sides } from './settings.mjs'

/**
 * The picture of the fleet that the page shows, made of the reports of its processes and of what lies in Redis.
 *
 * @typedef {import('./settings.mjs').Side} Side
 * @typedef {import('./settings.mjs').Key} Key
 * @typedef {import('./shop.mjs').Counts} Counts
 * @typedef {import('./fleet.mjs').Report} Report
 *
 * @typedef {Counts & { most: number }} Totals  with the most loads that were under way at a time
 * @typedef {Counts & { loading: Record<string, number>, waiting: number }} Doing  of a process since the last event
 * @typedef {{ left: number, holder: string | null }} Lease  with the process that took it, and milliseconds
 * @typedef {{ kind: string, number: number, at: number }} Event  `number` grows; `at` is the time of day
 */

/** After so long without a load, an event is over, in milliseconds. */
const untilIdle = 700

/** The name of a process that is no longer there. */
const gone = ''

const nobody = { left: 0, holder: null }

export class Scene {
  /** The last report of each process in its present life, and in former ones since the last event. @type {Map<number, { shop: string, report: Report }>} */
  #reports = new Map()
  /** @type {Record<Side, Record<string, Lease>>} */
  #leases = { without: {}, with: {} }
  /** Where a load has begun since Redis was asked for leases: what lasts longer there is new, not renewed. @type {Set<string>} */
  #taken = new Set()
  /** The loads that are under way in each process. @type {Record<Side, Map<string, number>>} */
  #underWay = { without: new Map(), with: new Map() }
  /** The most at a time in all of them since the last event. @type {Record<Side, number>} */
  #most = { without: 0, with: 0 }
  /** Whether the tape tells what the last event has cost. */
  #isConcluded = true
  #idleSince = Date.now()
  /** @type {Event} */
  event = { kind: 'start', number: 0, at: Date.now() }

  /** @param {import('./tape.mjs').Tape} tape */
  constructor(tape) {
    this.tape = tape
  }

  /** An event begins, with all counts at zero. @param {string} kind @param {number} number */
  begin(kind, number) {
    this.event = { kind, number, at: Date.now() }
    this.#idleSince = Date.now()
    this.#isConcluded = kind === 'way'
    for (const side of sides) this.#most[side] = this.#loads(side)
    for (const [life, { shop }] of this.#reports) if (shop === gone) this.#reports.delete(life)
  }

  /** Tells once what the last event has cost. */
  conclude() {
    if (this.#isConcluded) return
    this.#isConcluded = true
    this.tape.add({ kind: 'cost', event: this.event.kind, without: this.counts('without'), with: this.counts('with') })
  }

  /** The same when no load is under way any more. */
  concludeWhenIdle() {
    const isIdle = sides.every((side) => !this.#isLoading(side) && this.counts(side).queries > 0)
    if (!isIdle) this.#idleSince = Date.now()
    else if (Date.now() - this.#idleSince > untilIdle) this.conclude()
  }

  /** Whether values are about to expire by themselves, which is let happen at once on both sides. @param {{ value: number }[]} left */
  isOld(left) {
    const isQuiet = Date.now() - this.event.at > 2 * untilIdle && sides.every((side) => !this.#isLoading(side))
    return isQuiet && left.some(({ value }) => value > 0 && value < 3 * reportEvery)
  }

  /** @param {import('./fleet.mjs').ReportNews} news */
  addReport({ shop, life, report }) {
    this.#reports.set(life, { shop, report })
  }

  /** What a process does that is no longer there is over; what it did remains counted. @param {string} shop */
  remove(shop) {
    for (const side of sides) this.#underWay[side].delete(shop)
    for (const [life, each] of this.#reports) {
      if (each.shop !== shop) continue
      const ended = (/** @type {Side} */ side) => ({ ...each.report[side], loading: {}, waiting: 0 })
      const report = { event: each.report.event, without: ended('without'), with: ended('with') }
      this.#reports.set(life, { shop: gone, report })
    }
  }

  /** @param {import('./fleet.mjs').LoadNews} news */
  addLoad({ shop, side, key, underWay }) {
    this.addEnd({ shop, side, underWay })
    this.#most[side] = Math.max(this.#most[side], this.#loads(side))
    this.#leases[side][key] = { left: this.#leases[side][key]?.left ?? 0, holder: shop }
    this.#taken.add(`${side}:${key}`)
    this.tape.add({ kind: 'load', side, key, shop })
  }

  /** @param {import('./fleet.mjs').EndNews} news */
  addEnd({ shop, side, underWay }) {
    this.#underWay[side].set(shop, underWay)
  }

  /** How many loads are under way in all processes. @param {Side} side */
  #loads(side) {
    return [...this.#underWay[side].values()].reduce((sum, loads) => sum + loads, 0)
  }

  /**
   * A lease that lasts longer than a moment ago has been renewed; a lock never is.
   * @param {{ side: Side, key: Key, lease: number }[]} left @param {(side: Side) => boolean} isHerdless
   */
  addLeases(left, isHerdless) {
    for (const { side, key, lease } of left) {
      const before = this.#leases[side][key] ?? nobody
      const isLonger = isHerdless(side) && before.left > 0 && lease > before.left + lockTtl / 10
      if (isLonger && !this.#taken.has(`${side}:${key}`)) this.tape.add({ kind: 'renewed', side, key })
      this.#leases[side][key] = { left: lease, holder: lease > 0 || before.left === 0 ? before.holder : null }
    }
    this.#taken.clear()
  }

  /** Redis is away, and all that was in it. */
  forgetLeases() {
    this.#leases = { without: {}, with: {} }
  }

  /** Whether a load is under way on a side. @param {Side} side */
  #isLoading(side) {
    return [...this.#reports.values()].some(({ report }) =>
      Object.values(report[side].loading).some((loads) => loads > 0),
    )
  }

  /** What all processes did since the last event. @param {Side} side @returns {Totals} */
  counts(side) {
    const since = [...this.#reports.values()]
      .map(({ report }) => report)
      .filter(({ event }) => event === this.event.number)
    return { ...since.reduce((sum, report) => total(sum, report[side].counts), zero()), most: this.#most[side] }
  }

  /** @param {import('./fleet.mjs').Fleet} fleet */
  snapshot({ way, source, isRedisUp, shops, redis }) {
    return {
      at: Date.now(),
      way,
      source,
      redis: { isUp: isRedisUp, isOwn: redis.isOwn },
      event: this.event,
      sides: { without: this.counts('without'), with: this.counts('with') },
      leases: { without: this.#leasesOf('without'), with: this.#leasesOf('with') },
      processes: processNames.map((name) => ({
        name,
        state: shops.find((shop) => shop.name === name)?.state ?? 'starting',
        without: this.#doing('without', name),
        with: this.#doing('with', name),
      })),
      tape: this.tape.entries,
    }
  }

  /** @param {Side} side */
  #leasesOf(side) {
    return Object.fromEntries(allKeys.map((key) => [key, this.#leases[side][key] ?? nobody]))
  }

  /** @param {Side} side @param {string} shop @returns {Doing} */
  #doing(side, shop) {
    const last = [...this.#reports.values()].findLast((each) => each.shop === shop)?.report
    if (last === undefined) return { ...zero(), loading: {}, waiting: 0 }
    const { counts, loading, waiting } = last[side]
    return { ...(last.event === this.event.number ? counts : zero()), loading, waiting }
  }
}

/** @returns {Counts} */
export function zero() {
  return { requests: 0, answered: 0, errors: 0, outdated: 0, slowest: 0, queries: 0 }
}

/** @param {Counts} one @param {Counts} other @returns {Counts} */
function total(one, other) {
  return {
    requests: one.requests + other.requests,
    answered: one.answered + other.answered,
    errors: one.errors + other.errors,
    outdated: one.outdated + other.outdated,
    slowest: Math.max(one.slowest, other.slowest),
    queries: one.queries + other.queries,
  }
}
