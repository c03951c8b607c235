/**
 * Finds Chromium, or fetches it. In this order:
 *
 *  1. `chromium`, `chromium-browser` or `google-chrome` on the PATH
 *  2. a copy fetched earlier, in node_modules/.cache/herdless
 *  3. on Debian and its relatives, the system's own package, fetched and unpacked into that cache
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, foldersOfPath } from './redis-program.mjs'
import { fetchedEarlier, fetchPackage } from './system-package.mjs'

/** Without a sandbox, which root has none of, and without the requests that Chromium makes by itself. */
export const quietFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** @typedef {{ program: string, version: string, env: Record<string, string> }} Chromium */

/** @type {import('./system-package.mjs').SystemPackage<Chromium>} */
const chromium = {
  name: 'chromium',
  what: 'Chromium',
  // The last one has another name than the library in it.
  packages: [['chromium', 'chromium-common', 'fonts-dejavu-core', 'libvorbis0a']],
  private: ['pulseaudio'],
  find: (root) => findProgram('chromium', [join(root, 'usr/lib/chromium')]),
  tried,
}

/**
 * The program, with what its environment needs on top of ours.
 * @returns {Promise<Chromium>}
 * @throws {Error} where there is none: the message names the way out.
 */
export async function provisionChromium() {
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  const installed = names.map((name) => findProgram(name, foldersOfPath())).find((program) => program !== undefined)
  if (installed !== undefined) return tried(installed, {})
  try {
    return (await fetchedEarlier(chromium)) ?? (await fetchPackage(chromium))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `There is no Chromium here, and none could be fetched: ${reason}. Install chromium so that it is on the PATH.`,
      { cause: error },
    )
  }
}

/**
 * @param {string} program
 * @param {Record<string, string>} env
 * @returns {Promise<Chromium>}
 */
async function tried(program, env) {
  const { stdout } = await promisify(execFile)(program, ['--version'], { env: { ...process.env, ...env } })
  return { program, version: stdout.trim(), env }
}
