/**
 * Finds libfaketime, or fetches it: preloaded into a program, it gives that program a clock of its own. On Linux only,
 * in this order:
 *
 *  1. where a package of the system puts it
 *  2. a copy fetched earlier, in node_modules/.cache/herdless
 *  3. on Debian and its relatives, the system's own package, fetched and unpacked into that cache
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fetchedEarlier, fetchPackage, libraryFolders } from './system-package.mjs'

/**
 * @typedef {{ library: string, preload: string }} Library the path of libfaketime, and what to put in `LD_PRELOAD`
 * @typedef {(Library & { missing?: never }) | { library?: never, preload?: never, missing: string }} Faketime
 */

/** @type {import('./system-package.mjs').SystemPackage<Library>} */
const faketime = { name: 'faketime', what: 'libfaketime', packages: [['libfaketime']], find: findLibrary, tried }

/**
 * The library: with its `preload` in `LD_PRELOAD`, `FAKETIME` says what time it is, such as `+60s`, or
 * `FAKETIME_TIMESTAMP_FILE` names a file that says so, which is read each time with `FAKETIME_NO_CACHE=1`. Or why it
 * cannot be had.
 * @returns {Promise<Faketime>}
 */
export async function provisionFaketime() {
  if (process.platform !== 'linux') return { missing: `libfaketime works on Linux, and this is ${process.platform}` }
  try {
    return (await installed()) ?? (await fetchedEarlier(faketime)) ?? (await fetchPackage(faketime))
  } catch (error) {
    return { missing: error instanceof Error ? error.message : String(error) }
  }
}

/** @returns {Promise<Library | undefined>} */
async function installed() {
  const library = findLibrary('/')
  return library === undefined ? undefined : tried(library).catch(() => undefined)
}

/**
 * The library for programs with threads, which Redis is.
 * @param {string} root
 */
function findLibrary(root) {
  return [...libraryFolders(root), join(root, 'usr/lib64'), join(root, 'usr/lib')]
    .map((folder) => join(folder, 'faketime/libfaketimeMT.so.1'))
    .find((file) => existsSync(file))
}

/**
 * A library that cannot be loaded is no error to the program that should load it, which then tells the true time.
 * @param {string} library
 * @returns {Promise<Library>}
 */
async function tried(library) {
  // A server with jemalloc would wait for itself for ever: jemalloc asks for the time while it starts, and libfaketime
  // for memory. So memory comes from the C library, which has to stand behind libfaketime and before jemalloc.
  const preload = `${library}:libc.so.6`
  const env = { ...process.env, LD_PRELOAD: preload, FAKETIME: '@2001-02-03 04:05:06', TZ: 'UTC' }
  const { stdout } = await promisify(execFile)('date', ['+%Y'], { env })
  if (stdout.trim() !== '2001') throw new Error(`${library} does not change the clock of a program here`)
  return { library, preload }
}
