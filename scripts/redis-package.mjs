/**
 * The system's own package of Redis or Valkey, on Debian and its relatives: fetched and unpacked into
 * node_modules/.cache/herdless, which needs no root, because nothing is installed.
 */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, findProgram, findServer, foldersOfPath } from './redis-program.mjs'

/** @typedef {import('./redis-program.mjs').RedisBinary} RedisBinary */

const execute = promisify(execFile)
const cache = fileURLToPath(new URL('../node_modules/.cache/herdless/', import.meta.url))
const place = join(cache, `redis-${process.platform}-${process.arch}`)
/** What apt-get may call a server: the first that it knows is taken. */
const serverPackages = [
  ['redis-server', 'redis-tools'],
  ['valkey-server', 'valkey-tools'],
]

/**
 * The server that was fetched earlier, if it runs here.
 * @returns {Promise<RedisBinary | undefined>}
 */
export function fetchedEarlier() {
  return unpacked(place)
}

/**
 * Fetches into a temporary folder and renames it when it is complete, so that a process beside this one never sees half
 * a copy.
 * @returns {Promise<RedisBinary>}
 * @throws {Error} where it cannot be had: the message says why.
 */
export async function fetchPackage() {
  const missing = ['apt-get', 'dpkg', 'ldd'].filter((tool) => !findProgram(tool, foldersOfPath()))
  if (missing.length > 0) throw new Error(`this system has no ${missing.join(', no ')}`)
  say(`fetching redis-server with apt-get into node_modules/.cache/herdless (nothing is installed, no root is needed)`)
  await mkdir(cache, { recursive: true })
  const fetched = await mkdtemp(join(cache, 'fetch-'))
  try {
    const root = join(fetched, 'root')
    await unpackServer(root, join(fetched, 'apt'))
    await putInPlace(root, join(fetched, 'replaced'))
  } finally {
    await rm(fetched, { recursive: true, force: true })
  }
  const found = await unpacked(place)
  if (!found) throw new Error(`the fetched redis-server does not run on this system`)
  return found
}

/**
 * @param {string} complete the folder to put in place
 * @param {string} aside where to move what is in place but does not run; what runs came from another process just now
 */
async function putInPlace(complete, aside) {
  try {
    await rename(complete, place)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error
    if (await unpacked(place)) return
    await rename(place, aside)
    await rename(complete, place)
  }
}

/**
 * @param {string} root where the packages are unpacked
 * @param {string} lists where the package lists go if the system's do not know the package
 */
async function unpackServer(root, lists) {
  try {
    await unpackWithLibraries(root, [])
  } catch {
    say(`the system's package lists are missing or old, reading new ones into a temporary folder`)
    const { options, complaint } = await readPackageLists(lists)
    await unpackWithLibraries(root, options).catch((error) => {
      throw new Error([lastLine(error), complaint].filter(Boolean).join('; '))
    })
  }
}

/**
 * @param {string} root
 * @param {string[]} options for apt-get
 */
async function unpackWithLibraries(root, options) {
  await unpackFirstKnown(root, serverPackages, options)
  const binary = /** @type {string} */ (findServer([join(root, 'usr/bin')]))
  let missing = await missingLibraries(binary, root)
  while (missing.length > 0) {
    for (const library of missing) await unpackFirstKnown(root, packagesOf(library), options)
    const before = missing
    missing = await missingLibraries(binary, root)
    if (missing.join() === before.join()) throw new Error(`no package of this system brings ${missing.join(', ')}`)
  }
}

/**
 * @param {string} binary
 * @param {string} root
 */
async function missingLibraries(binary, root) {
  const { stdout } = await execute('ldd', [binary], { env: { ...process.env, ...libraryPath(root) } })
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
 * The server in a folder of unpacked packages, or undefined where there is none that runs.
 * @param {string} folder
 * @returns {Promise<RedisBinary | undefined>}
 */
async function unpacked(folder) {
  const binary = findServer([join(folder, 'usr/bin')])
  return binary === undefined ? undefined : describe(binary, libraryPath(folder)).catch(() => undefined)
}

/** @param {string} folder of unpacked packages, which hold libraries in `lib/<machine>` or `usr/lib/<machine>` */
function libraryPath(folder) {
  const inherited = process.env['LD_LIBRARY_PATH']
  const own = ['usr/lib', 'lib'].flatMap((path) => machineFolders(join(folder, path)))
  return { LD_LIBRARY_PATH: [...own, ...(inherited ? [inherited] : [])].join(delimiter) }
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
