/**
 * Finds Prometheus with its promtool, or fetches them. In this order:
 *
 *  1. `prometheus` and `promtool` on the PATH
 *  2. copies fetched earlier, in node_modules/.cache/herdless
 *  3. on Debian and its relatives, the system's own package, fetched and unpacked into that cache
 */
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, foldersOfPath } from './redis-program.mjs'
import { fetchedEarlier, fetchPackage } from './system-package.mjs'

/** @typedef {{ prometheus: string, promtool: string }} Prometheus the two programs */

/** @type {import('./system-package.mjs').SystemPackage<Prometheus>} */
const wanted = {
  name: 'prometheus',
  what: 'Prometheus',
  packages: [['prometheus']],
  find: (root) => findProgram('promtool', [join(root, 'usr/bin')]),
  tried,
}

/**
 * @returns {Promise<Prometheus>}
 * @throws {Error} where there is none: the message names the way out.
 */
export async function provisionPrometheus() {
  const installed = findProgram('promtool', foldersOfPath())
  if (installed !== undefined) return tried(installed)
  try {
    return (await fetchedEarlier(wanted)) ?? (await fetchPackage(wanted))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `There is no Prometheus here, and none could be fetched: ${reason}. Install prometheus so that it is on the PATH.`,
      { cause: error },
    )
  }
}

/** @param {string} promtool @returns {Promise<Prometheus>} */
async function tried(promtool) {
  const prometheus = join(dirname(promtool), 'prometheus')
  await promisify(execFile)(promtool, ['--version'])
  await promisify(execFile)(prometheus, ['--version'])
  return { prometheus, promtool }
}
