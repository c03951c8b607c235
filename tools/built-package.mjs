import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkout } from './command.mjs'

/**
 * The folder for the package as it is built from `src` as it stands now. It is named after what it is built from, so that a
 * build or an edit changes nothing under a program that runs from there.
 */
export async function builtFolder() {
  return join(checkout, 'node_modules/.cache/herdless-fleet', await digestOfSource())
}

async function digestOfSource() {
  const names = (await readdir(join(checkout, 'src'), { recursive: true })).filter((name) => name.endsWith('.ts'))
  const paths = [
    'scripts/build.mjs',
    'tsconfig.base.json',
    'tsconfig.build.json',
    ...names.toSorted().map((name) => join('src', name)),
  ]
  const hash = createHash('sha256')
  for (const path of paths) hash.update(`${path}\0`).update(await readFile(join(checkout, path)))
  return hash.digest('hex').slice(0, 16)
}
