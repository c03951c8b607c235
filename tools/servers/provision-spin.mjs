/**
 * Finds spin, the model checker, or fetches it. In this order:
 *
 *  1. `spin` on the PATH
 *  2. a copy fetched earlier, in node_modules/.cache/herdless
 *  3. on Debian and its relatives, the system's own package, fetched and unpacked into that cache
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, foldersOfPath } from './redis-program.mjs'
import { fetchedEarlier, fetchPackage } from './system-package.mjs'

/** @typedef {{ program: string, version: string, env: Record<string, string> }} Spin */

/** @type {import('./system-package.mjs').SystemPackage<Spin>} */
const spin = {
  name: 'spin',
  what: 'spin',
  packages: [['spin']],
  find: (root) => findProgram('spin', [join(root, 'usr/bin')]),
  tried,
}

/**
 * The program, with what its environment needs on top of ours.
 * @returns {Promise<Spin>}
 * @throws {Error} where there is none: the message names the way out.
 */
export async function provisionSpin() {
  const installed = findProgram('spin', foldersOfPath())
  if (installed) return tried(installed, {})
  try {
    return (await fetchedEarlier(spin)) ?? (await fetchPackage(spin))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `There is no spin here, and none could be fetched: ${reason}. Install spin (spinroot.com) so that it is on the PATH.`,
      { cause: error },
    )
  }
}

/**
 * @param {string} program
 * @param {Record<string, string>} env
 * @returns {Promise<Spin>}
 */
async function tried(program, env) {
  const { stdout } = await promisify(execFile)(program, ['-V'], { env: { ...process.env, ...env } })
  const version = /Spin Version (\S+)/.exec(stdout)?.[1]
  if (version === undefined) throw new Error(`${program} is not the model checker spin`)
  return { program, version, env }
}
