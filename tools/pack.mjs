import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { command } from './command.mjs'

/**
 * Packs the built package, as it would be published.
 * @param {string} folder an empty one
 * @returns {Promise<string>} the tarball
 */
export async function pack(folder) {
  await mkdir(folder, { recursive: true })
  await command('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder])
  const [tarball = ''] = await readdir(folder)
  return join(folder, tarball)
}
