#!/usr/bin/env node
/**
 * Finds a Redis to run, or fetches one, without root and without asking. The lab, the tests and CI all come here, so this file runs on
 * bare Node, before anything is installed or built. In this order:
 *
 *  1. `REDIS_URL`: a server is given
 *  2. `redis-server` or `valkey-server` on the PATH
 *  3. a copy fetched earlier, in node_modules/.cache/herdless
 *  4. on Debian and its relatives, the system's own package, fetched and unpacked into that cache
 *  5. Docker, where its engine answers
 *
 * As a command it prints what it found as one line of JSON on stdout; what it does meanwhile goes to stderr.
 */
import { execFile } from 'node:child_process'
import { accessSync, constants, readdirSync, realpathSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * @typedef {{ kind: 'binary', binary: string, version: string, env: Record<string, string> }} RedisBinary
 *   A server program, with what its environment needs on top of ours.
 * @typedef {{ kind: 'url', url: string }} RedisUrl A server that runs already.
 * @typedef {{ kind: 'docker', image: string }} RedisImage An image that the Docker engine here can run.
 */

const execute = promisify(execFile)
const programs = ['redis-server', 'valkey-server']
const cache = fileURLToPath(new URL('../node_modules/.cache/herdless/', import.meta.url))
const image = 'redis:7-alpine'

/**
 * A Redis, in the order above.
 * @returns {Promise<RedisBinary | RedisUrl | RedisImage>}
 * @throws {Error} where there is none: the message names the ways out.
 */
export async function provisionRedis() {
  const url = process.env['REDIS_URL']
  if (url) return { kind: 'url', url }
  const { found, reason } = await findOrFetchBinary()
  if (found) return found
  if (await dockerAnswers()) return { kind: 'docker', image }
  throw new Error(
    `There is no Redis here, and none could be fetched: ${reason}. One of these three helps: ` +
      `set REDIS_URL to a server that may be written to; install redis-server or valkey-server so that it is on the PATH; start Docker.`,
  )
}

/**
 * A server program: for those who start, freeze and kill servers of their own, which a given URL does not allow.
 * @returns {Promise<RedisBinary>}
 * @throws {Error} where there is none: the message names the way out.
 */
export async function provisionBinary() {
  const { found, reason } = await findOrFetchBinary()
  if (found) return found
  throw new Error(
    `These servers are started, frozen and killed on purpose, so REDIS_URL and Docker cannot stand in for a program, and none could be fetched: ` +
      `${reason}. Install redis-server or valkey-server so that it is on the PATH.`,
  )
}

/** @returns {Promise<{ found: RedisBinary, reason?: never } | { found?: never, reason: string }>} */
async function findOrFetchBinary() {
  const installed = programs.map(onPath).find((path) => path !== undefined)
  if (installed) return { found: await describe(installed, {}) }
  const folder = join(cache, `redis-${process.platform}-${process.arch}`)
  const fetchedEarlier = await unpacked(folder)
  if (fetchedEarlier) return { found: fetchedEarlier }
  const tools = ['apt-get', 'dpkg', 'ldd']
  if (!tools.every(onPath)) return { reason: `this system has no apt-get, so its packages are out of reach` }
  try {
    return { found: await fetchPackage(folder) }
  } catch (error) {
    return { reason: lastLine(error) }
  }
}

/**
 * @param {string} program
 * @returns {string | undefined}
 */
function onPath(program) {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, program)).find(isExecutable)
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Runs the program once, so that what is handed out is known to run here.
 * @param {string} binary
 * @param {Record<string, string>} env
 * @returns {Promise<RedisBinary>}
 */
async function describe(binary, env) {
  const { stdout } = await execute(binary, ['--version'], { env: { ...process.env, ...env } })
  return { kind: 'binary', binary, version: /v=(\S+)/.exec(stdout)?.[1] ?? stdout.trim(), env }
}

/**
 * The server in a folder of unpacked packages, or undefined where there is none that runs.
 * @param {string} folder
 * @returns {Promise<RedisBinary | undefined>}
 */
async function unpacked(folder) {
  const binary = programs.map((program) => join(folder, 'usr/bin', program)).find(isExecutable)
  return binary === undefined ? undefined : describe(binary, libraryPath(folder)).catch(() => undefined)
}

/** @param {string} folder of unpacked packages, which hold libraries in `lib/<machine>` or `usr/lib/<machine>` */
function libraryPath(folder) {
  const inherited = process.env['LD_LIBRARY_PATH']
  const own = ['usr/lib', 'lib'].flatMap((place) => machineFolders(join(folder, place)))
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

/**
 * Fetches into a temporary folder and renames it when it is complete, so that a process beside this one never sees half a copy.
 * @param {string} folder
 * @returns {Promise<RedisBinary>}
 */
async function fetchPackage(folder) {
  say(`fetching redis-server with apt-get into node_modules/.cache/herdless (nothing is installed, no root is needed)`)
  await mkdir(cache, { recursive: true })
  const fetched = await mkdtemp(join(cache, 'fetch-'))
  try {
    const root = join(fetched, 'root')
    await unpackServer(root, join(fetched, 'apt'))
    await putInPlace(root, folder, join(fetched, 'replaced'))
  } finally {
    await rm(fetched, { recursive: true, force: true })
  }
  const found = await unpacked(folder)
  if (!found) throw new Error(`the fetched redis-server does not run on this system`)
  return found
}

/**
 * @param {string} complete the folder to put in place
 * @param {string} place where to; what is there either came from another process a moment ago, or does not run
 * @param {string} aside where what does not run is moved to
 */
async function putInPlace(complete, place, aside) {
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
  await unpackFirstKnown(root, [['redis-server', 'redis-tools'], ['valkey-server', 'valkey-tools']], options)
  const binary = /** @type {string} */ (programs.map((program) => join(root, 'usr/bin', program)).find(isExecutable))
  let missing = await missingLibraries(binary, root)
  while (missing.length > 0) {
    for (const library of missing) await unpackFirstKnown(root, packagesOf(library).map((name) => [name]), options)
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
 * The names that Debian's library policy (section 8.1) gives to the package of a shared library: libjemalloc.so.2 comes in libjemalloc2, or in
 * libjemalloc2t64 where the package was renamed for 64-bit time.
 * @param {string} library such as libjemalloc.so.2
 */
function packagesOf(library) {
  const [name = library, version = ''] = library.toLowerCase().replaceAll('_', '-').split('.so.')
  const packageName = `${name}${/\d$/.test(name) ? '-' : ''}${version}`
  return [packageName, `${packageName}t64`]
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
 * @returns {Promise<{ options: string[], complaint: string }>} the options that make apt-get use them, and what it could not read
 */
async function readPackageLists(folder) {
  const state = await ensured(join(folder, 'state'))
  const archives = await ensured(join(folder, 'cache'))
  await ensured(join(state, 'lists/partial'))
  await ensured(join(archives, 'archives/partial'))
  const options = ['-o', `Dir::State=${state}`, '-o', `Dir::State::lists=${join(state, 'lists')}`, '-o', `Dir::Cache=${archives}`]
  const { stderr } = await apt([...options, 'update'], folder)
  return { options, complaint: stderr.trim().split('\n')[0] ?? '' }
}

/**
 * @param {string[]} command
 * @param {string} cwd where downloads land
 */
function apt(command, cwd) {
  // Root's apt-get would hand the download to the user _apt, who may not write into our folder.
  const options = ['-q', '-o', 'APT::Sandbox::User=root', '-o', 'Acquire::Retries=2', '-o', 'Acquire::http::Timeout=30']
  return execute('apt-get', [...options, ...command], { cwd, env: { ...process.env, LC_ALL: 'C' } })
}

/** @param {string} folder */
async function ensured(folder) {
  await mkdir(folder, { recursive: true })
  return folder
}

async function dockerAnswers() {
  return execute('docker', ['info']).then(
    () => true,
    () => false,
  )
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

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  provisionRedis().then(
    (found) => process.stdout.write(`${JSON.stringify(found)}\n`),
    (error) => {
      say(error.message)
      process.exitCode = 1
    },
  )
}
