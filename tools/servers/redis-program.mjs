import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

/**
 * @typedef {{ kind: 'binary', binary: string, version: string, env: Record<string, string> }} RedisBinary
 *   A server program, with what its environment needs on top of ours.
 */

/** The folders of the PATH. */
export function foldersOfPath() {
  return (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
}

/**
 * The file of the server program in these folders: of Redis, or else of Valkey.
 * @param {string[]} folders
 */
export function findServer(folders) {
  return findProgram('redis-server', folders) ?? findProgram('valkey-server', folders)
}

/**
 * @param {string} name
 * @param {string[]} folders
 * @returns {string | undefined}
 */
export function findProgram(name, folders) {
  return folders.map((folder) => join(folder, name)).find(isExecutable)
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
export async function describe(binary, env) {
  const { stdout } = await promisify(execFile)(binary, ['--version'], { env: { ...process.env, ...env } })
  return { kind: 'binary', binary, version: /v=(\S+)/.exec(stdout)?.[1] ?? stdout.trim(), env }
}
