import { access, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { command } from '../../tools/command.mjs'
import { compiledFolder } from '../../tools/compiled-package.mjs'
import { until } from '../../tools/until.mjs'

/** A folder with `src` as it stands now, compiled; `npm run build` leaves one, and else it is made here. */
export async function builtPackage(): Promise<string> {
  const folder = await compiledFolder()
  if (await exists(folder)) return folder
  const half = `${folder}-half`
  // Several test files begin at once: one of them builds, the others wait for it.
  if (await isFirst(half)) await build(half, folder)
  else await until('another test file has built the package', () => exists(folder), 60_000)
  return folder
}

async function build(half: string, folder: string): Promise<void> {
  try {
    await command('tsc', ['-p', 'tsconfig.build.json', '--outDir', half, '--declarationDir', half])
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

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
