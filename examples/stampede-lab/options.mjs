import { parseArgs } from 'node:util'

import { sources } from './sources.mjs'
import { ways } from './ways.mjs'

/**
 * @typedef {object} Options
 * @property {import('./ways.mjs').WayName[]} ways
 * @property {import('./sources.mjs').SourceName[]} sources
 * @property {number} callers  in each process
 * @property {boolean} json
 * @property {'page' | 'table'} shows
 * @property {number} port  of the page; 0 for any free one
 * @property {boolean} hasBrowser  whether a browser can show a page here
 */

const usage = `Usage: npm run lab -- [options]

Opens a page on which four processes under load can be watched and disturbed. With one of the options of the table,
or where there is no terminal or no browser, it prints a table instead: a herd of callers asks for one cold key at the
same instant, once for each source and each protection, and the queries that reach the database are counted.

The page:
  --page            even where there is no terminal or no browser
  --port <n>        on this port, any free one unless given

The table:
  --headless        instead of the page
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
      callers: { type: 'string' },
      json: { type: 'boolean', default: false },
      headless: { type: 'boolean', default: false },
      page: { type: 'boolean', default: false },
      port: { type: 'string', default: '0' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(usage)
    return null
  }
  const { headless, json, page, source, only } = values
  const hasBrowser = canShowPages()
  const isOfTable = headless || json || [values.callers, source, only].some((value) => value !== undefined)
  if (isOfTable && page) throw new Error('--page has no meaning with an option of the table')
  const showsPage = page || (!isOfTable && process.stdout.isTTY && hasBrowser)
  return {
    shows: showsPage ? 'page' : 'table',
    hasBrowser,
    port: whole('--port', values.port, 0),
    ways: chosen('--only', ways, only),
    sources: chosen('--source', sources, source),
    callers: whole('--callers', values.callers ?? '25', 1),
    json,
  }
}

/** Whether there is a desktop on which a browser can open. */
function canShowPages() {
  const { platform, env } = process
  if (env['CI'] !== undefined) return false
  return platform === 'darwin' || platform === 'win32' || ['DISPLAY', 'WAYLAND_DISPLAY'].some((name) => env[name])
}

/**
 * @param {string} option
 * @param {string} given
 * @param {number} least
 */
function whole(option, given, least) {
  const number = Number(given)
  if (Number.isInteger(number) && number >= least) return number
  throw new Error(`${option} must be a whole number from ${least}, got '${given}'`)
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
