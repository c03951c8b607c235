/**
 * `npm run lab`: installs and builds what is missing, then runs the stampede lab (examples/stampede-lab). Arguments go to the lab; `--help` shows
 * them. Runs on bare Node in a fresh clone.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

async function prepare() {
  if (!existsSync(join(root, 'node_modules'))) {
    await npm('installing the packages of the lab', ['ci', '--omit=dev', '--no-audit', '--no-fund'])
  }
  if (lastChange('dist') < lastChange('src')) await npm('building herdless', ['run', 'build'])
}

/**
 * When the newest file of a folder was written, in milliseconds; 0 when there is none.
 * @param {string} folder
 */
function lastChange(folder) {
  const path = join(root, folder)
  if (!existsSync(path)) return 0
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => statSync(join(path, name)))
  return Math.max(0, ...files.filter((file) => file.isFile()).map((file) => file.mtimeMs))
}

/**
 * @param {string} what
 * @param {string[]} args
 */
async function npm(what, args) {
  process.stderr.write(`herdless: ${what} (npm ${args.join(' ')})\n`)
  // stdout is kept for the lab's own, which a program may read (--json); on Windows npm is a script and needs a shell.
  const child = spawn('npm', args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
  const reason = await once(child, 'close').then(
    ([code]) => (code === 0 ? null : 'what went wrong is above'),
    (error) => error.message,
  )
  if (reason === null) return
  throw new Error(
    `${what} failed: ${reason}. Run \`npm ${args.join(' ')}\` until it succeeds, then \`npm run lab\` again.`,
  )
}

try {
  await prepare()
  await import('../examples/stampede-lab/lab.mjs')
} catch (error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
  const hint =
    code === 'ERR_MODULE_NOT_FOUND' ? '. The installed packages are not those of this checkout: run `npm ci`.' : ''
  process.stderr.write(`herdless: ${message}${hint}\n`)
  process.exitCode = 1
}
