import { createHash } from 'node:crypto'
import { access, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { checkout, command } from '../../tools/command.mjs'
import { until } from '../../tools/until.mjs'

/**
 * A folder with the package as `npm run build` would make it from `src` as it stands now. It is named after what is in
 * `src`, so it is made once for each state of it, and nobody who builds or edits meanwhile changes it under a fleet.
 */
export async function builtPackage(): Promise<string> {
  const folder = join(checkout, 'node_modules/.cache/herdless-fleet', await digestOfSource())
  if (await exists(folder)) return folder
  const half = `${folder}-half`
  // Several test files begin at once: one of them builds, the others wait for it.
  if (await isFirst(half)) await build(half, folder)
  else await until('another test file has built the package', () => exists(folder), 60_000)
  return folder
}

async function build(half: string, folder: string): Promise<void> {
  try {
    await command('tsc', ['-p', 'tsconfig.build.json', '--outDir', half])
    await writeFile(join(half, 'package.json'), '{ "type": "module" }\n')
    await rename(half, folder)
  } catch (error) {
    await rm(half, { recursive: true, force: true })
    throw error
  }
}

/** Whether this process makes the folder. One that is older than a build takes was left by a process that was killed. */
async function isFirst(folder: string): Promise<boolean> {
  await mkdir(dirname(folder), { recursive: true })
  const made = (): Promise<boolean> =>
    mkdir(folder).then(
      () => true,
      () => false,
    )
  if (await made()) return true
  const { birthtimeMs } = await stat(folder).catch(() => ({ birthtimeMs: Date.now() }))
  if (Date.now() - birthtimeMs < 60_000) return false
  await rm(folder, { recursive: true, force: true })
  return made()
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
