/**
 * Packages of the system, on Debian and its relatives: fetched and unpacked into node_modules/.cache/herdless, which
 * needs no root, because nothing is installed. The libraries that a program lacks here are fetched with it.
 */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findProgram, foldersOfPath } from './redis-program.mjs'

/**
 * @template T what the caller gets
 * @typedef {object} SystemPackage
 * @property {string} name of its folder in the cache
 * @property {string} what is fetched, for those who read along
 * @property {string[][]} packages sets of packages that bring it: the first that apt-get knows is taken
 * @property {string[]} [private] folders beside the system's libraries in which its libraries look for their own
 * @property {boolean} [linked] whether it may need libraries of the system, as a program does; true by default
 * @property {(root: string) => string | undefined} find the program or the library in a folder of unpacked packages
 * @property {(file: string, env: Record<string, string>) => Promise<T>} tried uses it once, with what its environment
 *   needs on top of ours, so that what is handed out is known to work here; rejects where it does not
 */

const execute = promisify(execFile)
const cache = fileURLToPath(new URL('../../node_modules/.cache/herdless/', import.meta.url))

/**
 * What was fetched earlier, if it works here.
 * @template T
 * @param {SystemPackage<T>} wanted
 * @returns {Promise<T | undefined>}
 */
export function fetchedEarlier(wanted) {
  return unpacked(wanted, placeOf(wanted))
}

/**
 * Fetches into a temporary folder and renames it when it is complete, so that a process beside this one never sees half
 * a copy.
 * @template T
 * @param {SystemPackage<T>} wanted
 * @returns {Promise<T>}
 * @throws {Error} where it cannot be had: the message says why.
 */
export async function fetchPackage(wanted) {
  const { what } = wanted
  const missing = ['apt-get', 'dpkg', 'ldd'].filter((tool) => !findProgram(tool, foldersOfPath()))
  if (missing.length > 0) throw new Error(`this system has no ${missing.join(', no ')}`)
  say(`fetching ${what} with apt-get into node_modules/.cache/herdless (nothing is installed, no root is needed)`)
  await mkdir(cache, { recursive: true })
  const fetched = await mkdtemp(join(cache, 'fetch-'))
  try {
    const root = join(fetched, 'root')
    await unpackWanted(wanted, root, join(fetched, 'apt'))
    await putInPlace(wanted, root, join(fetched, 'replaced'))
  } finally {
    await rm(fetched, { recursive: true, force: true })
  }
  const found = await unpacked(wanted, placeOf(wanted))
  if (!found) throw new Error(`the fetched ${what} does not run on this system`)
  return found
}

/**
 * The folders of unpacked packages that hold libraries: `lib/<machine>` and `usr/lib/<machine>`.
 * @param {string} root
 */
export function libraryFolders(root) {
  return ['usr/lib', 'lib'].flatMap((path) => machineFolders(join(root, path)))
}

/** @param {{ name: string }} wanted */
function placeOf({ name }) {
  return join(cache, `${name}-${process.platform}-${process.arch}`)
}

/**
 * @param {SystemPackage<unknown>} wanted
 * @param {string} complete the folder to put in place
 * @param {string} aside where to move what is in place but does not run; what runs came from another process just now
 */
async function putInPlace(wanted, complete, aside) {
  const place = placeOf(wanted)
  try {
    await rename(complete, place)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error
    if (await unpacked(wanted, place)) return
    await rename(place, aside)
    await rename(complete, place)
  }
}

/**
 * @param {SystemPackage<unknown>} wanted
 * @param {string} root where the packages are unpacked
 * @param {string} lists where the package lists go if the system's do not know the package
 */
async function unpackWanted(wanted, root, lists) {
  try {
    await unpackWithLibraries(wanted, root, [])
  } catch {
    say(`the system's package lists are missing or old, reading new ones into a temporary folder`)
    const { options, complaint } = await readPackageLists(lists)
    await unpackWithLibraries(wanted, root, options).catch((error) => {
      throw new Error([lastLine(error), complaint].filter(Boolean).join('; '))
    })
  }
}

/**
 * @param {SystemPackage<unknown>} wanted
 * @param {string} root
 * @param {string[]} options for apt-get
 */
async function unpackWithLibraries(wanted, root, options) {
  const { what, packages, linked = true, find } = wanted
  await unpackFirstKnown(root, packages, options)
  const file = find(root)
  if (file === undefined) throw new Error(`the package of this system brings no ${what}`)
  if (!linked) return
  let missing = await missingLibraries(file, libraryPath(wanted, root))
  while (missing.length > 0) {
    for (const library of missing) await unpackFirstKnown(root, packagesOf(library), options)
    const before = missing
    missing = await missingLibraries(file, libraryPath(wanted, root))
    if (missing.join() === before.join()) throw new Error(`no package of this system brings ${missing.join(', ')}`)
  }
}

/**
 * @param {string} file a program or a library
 * @param {Record<string, string>} env
 */
async function missingLibraries(file, env) {
  const { stdout } = await execute('ldd', [file], { env: { ...process.env, ...env } })
  return [...stdout.matchAll(/^\s*(\S+) => not found$/gm)].map((match) => /** @type {string} */ (match[1]))
}

/**
 * The names that Debian's library policy (section 8.1) gives to the package of a shared library: libjemalloc.so.2 comes
 * in libjemalloc2, or in libjemalloc2t64 where the package was renamed for 64-bit time.
 * @param {string} library such as libjemalloc.so.2
 */
function packagesOf(library) {
  const [name = library, version = ''] = library.toLowerCase().replaceAll('_', '-').split('.so.')
  const packageName = `${name}${/\d$/.test(name) ? '-' : ''}${version}`
  return [[packageName], [`${packageName}t64`]]
}

/**
 * @param {string} root
 * @param {string[][]} alternatives sets of packages, the first that can be had is taken
 * @param {string[]} options for apt-get
 */
async function unpackFirstKnown(root, alternatives, options) {
  const failures = []
  for (const packages of alternatives) {
    const folder = await mkdtemp(join(await ensured(root), 'packages-'))
    try {
      await apt([...options, 'download', ...packages], folder)
      for (const file of await readdir(folder)) await execute('dpkg', ['-x', join(folder, file), root])
      return
    } catch (error) {
      failures.push(lastLine(error))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  throw new Error(failures.join('; '))
}

/**
 * Reads the package lists of the system's own sources into folders of ours: the system's are only root's to write.
 * @param {string} folder
 * @returns {Promise<{ options: string[], complaint: string }>} the options that make apt-get use them, and what it
 *   could not read
 */
async function readPackageLists(folder) {
  const state = await ensured(join(folder, 'state'))
  const archives = await ensured(join(folder, 'cache'))
  await ensured(join(state, 'lists/partial'))
  await ensured(join(archives, 'archives/partial'))
  const options = [`-oDir::State=${state}`, `-oDir::State::lists=${join(state, 'lists')}`, `-oDir::Cache=${archives}`]
  const { stderr } = await apt([...options, 'update'], folder)
  return { options, complaint: stderr.trim().split('\n')[0] ?? '' }
}

/**
 * @param {string[]} command
 * @param {string} cwd where downloads land
 */
function apt(command, cwd) {
  // Root's apt-get would hand the download to the user _apt, who may not write into our folder.
  const options = ['-q', '-oAPT::Sandbox::User=root', '-oAcquire::Retries=2', '-oAcquire::http::Timeout=30']
  return execute('apt-get', [...options, ...command], { cwd, env: { ...process.env, LC_ALL: 'C' } })
}

/** @param {string} folder */
async function ensured(folder) {
  await mkdir(folder, { recursive: true })
  return folder
}

/**
 * What is wanted of a folder of unpacked packages, or undefined where there is none that works.
 * @template T
 * @param {SystemPackage<T>} wanted
 * @param {string} root
 * @returns {Promise<T | undefined>}
 */
async function unpacked(wanted, root) {
  const file = wanted.find(root)
  return file === undefined ? undefined : wanted.tried(file, libraryPath(wanted, root)).catch(() => undefined)
}

/**
 * @param {SystemPackage<unknown>} wanted
 * @param {string} root of unpacked packages
 */
function libraryPath({ private: own = [] }, root) {
  const inherited = process.env['LD_LIBRARY_PATH']
  const folders = libraryFolders(root)
  const all = [...folders, ...folders.flatMap((folder) => own.map((name) => join(folder, name)))]
  return { LD_LIBRARY_PATH: [...all, ...(inherited ? [inherited] : [])].join(delimiter) }
}

/** @param {string} folder whose subfolders named after a machine (x86_64-linux-gnu) hold its libraries */
function machineFolders(folder) {
  try {
    return readdirSync(folder)
      .filter((name) => name.includes('-linux-'))
      .map((name) => join(folder, name))
  } catch {
    return []
  }
}

/** @param {unknown} error of a command: its last word on stderr says most */
function lastLine(error) {
  const { stderr, message } = /** @type {{ stderr?: string, message: string }} */ (error)
  return (stderr || message).trim().split('\n').at(-1) ?? message
}

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {NodeJS.ErrnoException} */ (error).code ?? ''
}

/** @param {string} what */
function say(what) {
  process.stderr.write(`herdless: ${what}\n`)
}
