import { access, mkdir, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { command } from '../../tools/command.mjs'
import { builtFolder } from '../../tools/built-package.mjs'
import { until } from '../../tools/until.mjs'

/** A folder with the modules of the package, built from `src` as it stands now: by `npm run build`, and else here. */
export async function builtPackage(): Promise<string> {
  const folder = await builtFolder()
  if (await exists(folder)) return folder
  const half = `${folder}-half`
  // Several test files begin at once: one of them builds, the others wait for it.
  if (await isFirst(half)) await build(half)
  else await until('another test file has built the package', () => exists(folder), 60_000)
  return folder
}

async function build(half: string): Promise<void> {
  try {
    await command('node', ['scripts/build.mjs', '--out', half])
  } finally {
    await rm(half, { recursive: true, force: true })
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
