import { createHash, randomUUID } from 'node:crypto'
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkout, command } from '../../tools/command.mjs'

/**
 * A folder with the package as `npm run build` would make it from `src` as it stands now. It is named after what is in
 * `src`, so it is made once for each state of it, and nobody who builds or edits meanwhile changes it under a fleet.
 */
export async function builtPackage(): Promise<string> {
  const folder = join(checkout, 'node_modules/.cache/herdless-fleet', await digestOfSource())
  if (await exists(folder)) return folder
  const half = `${folder}-${randomUUID()}`
  await mkdir(half, { recursive: true })
  try {
    await command('tsc', ['-p', 'tsconfig.build.json', '--outDir', half])
    await writeFile(join(half, 'package.json'), '{ "type": "module" }\n')
    await rename(half, folder)
  } catch (error) {
    await rm(half, { recursive: true, force: true })
    // Another test file may have been faster.
    if (!(await exists(folder))) throw error
  }
  return folder
}

async function digestOfSource(): Promise<string> {
  const names = (await readdir(join(checkout, 'src'), { recursive: true })).filter((name) => name.endsWith('.ts'))
  const paths = ['tsconfig.base.json', 'tsconfig.build.json', ...names.toSorted().map((name) => join('src', name))]
  const hash = createHash('sha256')
  for (const path of paths) hash.update(`${path}\0`).update(await readFile(join(checkout, path)))
  return hash.digest('hex').slice(0, 16)
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
