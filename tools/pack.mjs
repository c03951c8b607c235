import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
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

/**
 * Packs the built package, and puts it where the projects below a folder find it by its name. All
 * other packages they find in the checkout.
 * @param {string} folder
 */
export async function unpackInto(folder) {
  const installed = join(folder, 'node_modules/herdless')
  const packed = await mkdtemp(join(tmpdir(), 'herdless-'))
  try {
    const tarball = await pack(packed)
    await rm(installed, { recursive: true, force: true })
    await mkdir(installed, { recursive: true })
    await command('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed])
  } finally {
    await rm(packed, { recursive: true, force: true })
  }
}
