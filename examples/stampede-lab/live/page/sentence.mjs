/** What a side does now and why, in one sentence that follows from the figures of the moment. */
import { words } from './words.mjs'

/** @typedef {import('./snapshot.d.ts').Snapshot} Snapshot @typedef {import('./snapshot.d.ts').Side} Side */

/** While Redis answers at once, fewer requests are under way. */
const someWait = 20

/** @param {Snapshot} snapshot @param {Side} side @returns {string} */
export function sentenceOf(snapshot, side) {
  const { now } = words
  const moment = momentOf(snapshot, side)
  const isHerdless = wayOf(snapshot, side) === 'herdless'
  if (!snapshot.redis.isUp) return isHerdless ? now.alone(moment) : now.waitForRedis(moment)
  if (snapshot.source.isBroken) return failing(snapshot, side)
  const gone = moment.leases.find(({ isGone }) => isGone)?.holder
  if (gone !== undefined) return isHerdless ? now.leaseOfGone({ ...moment, gone }) : now.lockOfGone({ ...moment, gone })
  const { event, sides } = snapshot
  if (moment.loads === 0) {
    if (moment.parked > someWait) return now.woken(moment)
    const isOutdated = event.kind === 'invalidate' && sides[side].outdated > 0
    return isOutdated ? now.outdated : now.serves
  }
  if (isHerdless && event.kind === 'invalidate' && sides[side].queries > 1) return now.refused
  if (event.kind === 'crawl') return side === 'with' ? now.limited(moment) : now.unlimited(moment)
  return loading(wayOf(snapshot, side), moment)
}

/** @param {string} way @param {ReturnType<typeof momentOf>} moment */
function loading(way, moment) {
  const { now } = words
  const leases = moment.leases.length
  const holders = [...new Set(moment.leases.map(({ holder }) => holder))].toSorted()
  if (way === 'nothing') return now.herd(moment)
  if (way === 'coalescing') return now.perProcess(moment)
  if (way === 'herdless') return holders.length > 0 ? now.leased({ ...moment, holders, leases }) : now.begun(moment)
  return moment.loads > holders.length && moment.loads > moment.keys
    ? now.lockLost(moment)
    : holders.length > 0
      ? now.locked({ ...moment, holders, leases })
      : now.begun(moment)
}

/** @param {Snapshot} snapshot @param {Side} side */
function failing(snapshot, side) {
  const { now } = words
  const moment = momentOf(snapshot, side)
  const way = wayOf(snapshot, side)
  if (way === 'nothing') return now.allFail(moment)
  if (way === 'herdless') return now.rememberFailure
  return way === 'lock' ? now.inTurnFail(moment) : now.shareFailure(moment)
}

/** The protection of a side. @param {Snapshot} snapshot @param {Side} side */
export function wayOf({ way }, side) {
  return side === 'with' ? 'herdless' : way
}

/** What is under way on a side. @param {Snapshot} snapshot @param {Side} side */
function momentOf({ processes, leases }, side) {
  const running = processes.map((process) => ({ ...process, ...process[side] }))
  const loadsOf = (/** @type {import('./snapshot.d.ts').Doing} */ doing) => Object.entries(doing.loading)
  const under = running.flatMap(loadsOf).filter(([, count]) => count > 0)
  const loads = under.reduce((sum, [, count]) => sum + count, 0)
  const waiting = running.reduce((sum, doing) => sum + doing.waiting, 0)
  const held = Object.values(leases[side]).flatMap(({ left, holder }) => {
    if (left === 0 || holder === null) return []
    return [{ holder, isGone: processes.find(({ name }) => name === holder)?.state !== 'running' }]
  })
  return { loads, keys: new Set(under.map(([key]) => key)).size, parked: Math.max(0, waiting - loads), leases: held }
}
