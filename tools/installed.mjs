/** Whether the packages of a folder are installed. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Whether the packages installed in a folder are those of its lock file. npm notes what it has installed in
 * node_modules/.package-lock.json; an optional package may be missing there, where it is of no use.
 * @param {string} folder
 */
export async function isInstalled(folder) {
  const wanted = await lockedVersions(join(folder, 'package-lock.json'))
  const installed = await lockedVersions(join(folder, 'node_modules/.package-lock.json')).catch(() => undefined)
  return (
    installed !== undefined &&
    [...wanted].every(([path, { version, optional }]) => optional || installed.get(path)?.version === version)
  )
}

/**
 * @param {string} file
 * @returns {Promise<Map<string, { version: string, optional?: boolean }>>} by folder
 */
async function lockedVersions(file) {
  const { packages } = JSON.parse(await readFile(file, 'utf8'))
  delete packages['']
  return new Map(Object.entries(packages))
}
