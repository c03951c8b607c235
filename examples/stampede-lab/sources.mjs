import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Where the report comes from, in four moods. `work` is what the loader does, in the process that loads.
 *
 * @typedef {object} Source
 * @property {string} title
 * @property {(alone: string) => string[]} about  what the table says of it; `alone` is its own time, measured
 * @property {(database: import('pg').Pool) => Promise<unknown>} work
 * @property {number} lockTtl  milliseconds; the ttl of the tutorial's lock and of the herdless lease
 * @property {number} [killAt]  kills the first process that loads after this share of the source's own time
 */

// The query has no parameters on purpose: it then travels as one message, and the database's socket server, which
// takes turns between connections message by message, cannot mix it up with another one.

/** @param {import('pg').Pool} database */
async function report(database) {
  const { rows } = await database.query('select report()')
  return rows[0].report
}

/** @param {import('pg').Pool} database */
async function brokenReport(database) {
  await database.query('select report(broken => true)')
}

const afterwork = 900

/** @param {import('pg').Pool} database */
async function slowReport(database) {
  const rows = await report(database)
  await sleep(afterwork)
  return rows
}

const [defaultTtl, shortTtl] = [10_000, 300]

/** By the name that `--source` takes. @satisfies {Record<string, Source>} */
export const sources = {
  fast: {
    title: 'A fast source',
    about: (alone) => ['one query', `alone: ${alone}`],
    work: report,
    lockTtl: defaultTtl,
  },
  slow: {
    title: 'Slower than its lease',
    about: (alone) => [`query, then a wait of ${afterwork} ms`, `lock and lease: ${shortTtl} ms`, `alone: ${alone}`],
    work: slowReport,
    lockTtl: shortTtl,
  },
  failing: {
    title: 'A failing source',
    about: (alone) => ['the query raises an error', `alone: ${alone}`],
    work: brokenReport,
    lockTtl: defaultTtl,
  },
  killed: {
    title: 'A killed leader',
    about: (alone) => ['as slow, kill -9 half-way', `lock and lease: ${defaultTtl / 1_000} s`, `alone: ${alone}`],
    work: slowReport,
    lockTtl: defaultTtl,
    killAt: 0.5,
  },
}

/** @typedef {keyof typeof sources} SourceName */
