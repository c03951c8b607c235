/** The packages that only benchmarks need: they are installed by the first benchmark that does. */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { command } from '../../tools/command.mjs'
import { isInstalled } from '../../tools/installed.mjs'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** Requires one of them, by its name in package.json. @type {NodeJS.Require} */
export const requirePeer = createRequire(import.meta.url)

/** Installs them, unless they are there. */
export async function installPeers() {
  if (!(await isInstalled(folder))) await command('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder })
}
