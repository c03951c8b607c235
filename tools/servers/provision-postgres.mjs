/**
 * Finds PostgreSQL to run, or fetches it. In this order:
 *
 *  1. `initdb` and `postgres` on the PATH, or where Debian puts them
 *  2. a copy fetched earlier, in node_modules/.cache/herdless
 *  3. on Debian and its relatives, the system's own package, fetched and unpacked into that cache
 *
 * PostgreSQL does not run as root; where we are root, it runs as nobody.
 */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, foldersOfPath } from './redis-program.mjs'
import { fetchedEarlier, fetchPackage } from './system-package.mjs'

/**
 * @typedef {object} Postgres
 * @property {string} bin the folder with its programs
 * @property {string} version
 * @property {Record<string, string>} env what its environment needs on top of ours
 */

/** The user that PostgreSQL runs as where we are root: nobody, and its group. */
export const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** From the newest to the oldest that Debian and Ubuntu have at present. */
const versions = [18, 17, 16, 15, 14]

/** @type {import('./system-package.mjs').SystemPackage<Postgres>} */
const server = {
  name: 'postgres',
  what: 'PostgreSQL',
  packages: versions.map((version) => [`postgresql-${version}`, `postgresql-client-${version}`]),
  find: (root) => findProgram('postgres', debianFolders(join(root, 'usr/lib/postgresql'))),
  tried,
}

/**
 * @returns {Promise<Postgres>}
 * @throws {Error} where there is none: the message names the way out.
 */
export async function provisionPostgres() {
  const folders = [...debianFolders('/usr/lib/postgresql'), ...foldersOfPath()]
  const installed = folders.find((folder) => findProgram('postgres', [folder]) && findProgram('initdb', [folder]))
  try {
    if (installed) return await tried(join(installed, 'postgres'), {})
    return (await fetchedEarlier(server)) ?? (await fetchPackage(server))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `There is no PostgreSQL here, and none could be fetched: ${reason}. Install it so that initdb and postgres are on the PATH.`,
      { cause: error },
    )
  }
}

/** @param {string} root with a folder for each version */
function debianFolders(root) {
  try {
    return readdirSync(root)
      .toSorted((one, other) => Number(other) - Number(one))
      .map((version) => join(root, version, 'bin'))
  } catch {
    return []
  }
}

/**
 * @param {string} program
 * @param {Record<string, string>} env
 * @returns {Promise<Postgres>}
 */
async function tried(program, env) {
  const { stdout } = await promisify(execFile)(program, ['--version'], { env: { ...process.env, ...env }, ...nobody })
  return { bin: dirname(program), version: /([\d.]+)/.exec(stdout)?.[1] ?? stdout.trim(), env }
}
