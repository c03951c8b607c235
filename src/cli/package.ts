import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The version of this package. */
export function version(): string {
  return (JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8')) as { version: string }).version
}

/** The address of a page of the documentation, such as `docs/redis.md#memory`, which is in this package. */
export function pageAddress(page: string): string {
  return new URL(page, pathToFileURL(join(packageFolder(), '/'))).href
}

/** The folder of this package. */
export function packageFolder(): string {
  // The depth of the compiled files may differ, and the folders above them have manifests without a name, which only
  // state the module format.
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!isOurs(join(folder, 'package.json'))) folder = dirname(folder)
  return folder
}

function isOurs(manifest: string): boolean {
  if (dirname(manifest) === dirname(dirname(manifest))) throw new Error('This package has lost its package.json')
  return existsSync(manifest) && (JSON.parse(readFileSync(manifest, 'utf8')) as { name?: string }).name === 'herdless'
}
