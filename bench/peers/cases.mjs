/** The cases of the comparison, and how each is played. */

export const processes = 4

/**
 * @typedef {object} Case
 * @property {number} [lockTtl] milliseconds, where the peer has a lock; its default otherwise
 * @property {number} time milliseconds that the loader takes
 * @property {Partial<import('./fleet.mjs').Stampede>} [more]
 */

/**
 * A cold key; a loader that throws; the process that loads is killed; a load of three times the time that a lock lives.
 * @type {Record<'cold' | 'failing' | 'killed' | 'slow', Case>}
 */
export const stampedes = {
  cold: { time: 200 },
  failing: { time: 30, more: { fails: true } },
  killed: { time: 200, more: { killAfter: 100 } },
  slow: { lockTtl: 1_000, time: 3_000 },
}

/** The process that invalidates the key while it is being loaded. */
export const invalidations = /** @type {const} */ (['the same process', 'another process'])

/** What can be measured alone, as `peers:<name>`: a stampede, the invalidations, or the hits. */
export const peerCases = ['invalidated', ...Object.keys(stampedes), 'hits']
