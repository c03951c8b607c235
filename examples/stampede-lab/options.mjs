import { parseArgs } from 'node:util'

import { sources } from './sources.mjs'
import { ways } from './ways.mjs'

/**
 * @typedef {object} Options
 * @property {import('./ways.mjs').WayName[]} ways
 * @property {import('./sources.mjs').SourceName[]} sources
 * @property {number} callers  in each process
 * @property {boolean} json
 */

const usage = `Usage: npm run lab -- [options]

Lets a herd of callers ask for one cold key at the same instant, once for each source and each protection, and
counts what reaches the database.

  --source <name>   ${Object.keys(sources).join(', ')}; all of them unless given, may be given again
  --only <name>     ${Object.keys(ways).join(', ')}; all of them unless given, may be given again
  --callers <n>     callers in each of the four processes, 25 unless given
  --json            the figures as JSON on stdout, everything else on stderr
  --help            this text

Redis is the server that REDIS_URL names, in a namespace that is deleted afterwards; without REDIS_URL, a server of
the lab's own on a free port.
`

/**
 * @returns {Options | null} null when the user asked for help, and got it
 * @throws {Error} on an argument that makes no sense
 */
export function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      source: { type: 'string', multiple: true },
      callers: { type: 'string', default: '25' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(usage)
    return null
  }
  const callers = Number(values.callers)
  if (!Number.isInteger(callers) || callers < 1) {
    throw new Error(`--callers must be a whole number from 1, got '${values.callers}'`)
  }
  return {
    ways: chosen('--only', ways, values.only),
    sources: chosen('--source', sources, values.source),
    callers,
    json: values.json,
  }
}

/**
 * @template {object} T
 * @param {string} option
 * @param {T} all
 * @param {string[] | undefined} wanted
 */
function chosen(option, all, wanted) {
  const names = /** @type {Extract<keyof T, string>[]} */ (Object.keys(all))
  const unknown = wanted?.find((name) => !names.some((known) => known === name))
  if (unknown !== undefined) throw new Error(`${option} must be one of ${names.join(', ')}, got '${unknown}'`)
  return wanted ? names.filter((name) => wanted.includes(name)) : names
}
