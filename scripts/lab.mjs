/**
 * `npm run lab`: installs and builds what is missing, then runs the stampede lab (examples/stampede-lab). Arguments go to the lab; `--help` shows
 * them. Runs on bare Node in a fresh clone.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

function prepare() {
  if (!existsSync(join(root, 'node_modules'))) npm('installing the packages', ['ci', '--no-audit', '--no-fund'])
  if (lastChange('dist') < lastChange('src')) npm('building herdless', ['run', 'build'])
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
function npm(what, args) {
  process.stderr.write(`herdless: ${what} (npm ${args.join(' ')})\n`)
  // stdout is kept for the lab's own, which a program may read (--json); on Windows npm is a script and needs a shell.
  const { status, error } = spawnSync('npm', args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (status === 0) return
  const reason = error ? error.message : 'what went wrong is above'
  throw new Error(
    `${what} failed: ${reason}. Run \`npm ${args.join(' ')}\` until it succeeds, then \`npm run lab\` again.`,
  )
}

try {
  prepare()
  await import('../examples/stampede-lab/lab.mjs')
} catch (error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
  const hint =
    code === 'ERR_MODULE_NOT_FOUND' ? '. The installed packages are not those of this checkout: run `npm ci`.' : ''
  process.stderr.write(`herdless: ${message}${hint}\n`)
  process.exitCode = 1
}
