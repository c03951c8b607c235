/**
 * `npm run check:package`: packs the built package and tries it as its users will. Its manifest and types are judged by
 * publint and are-the-types-wrong; then it is installed into an empty project, every export is imported and required,
 * a stampede is let loose on it, and its command examines the Redis.
 */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkout, command } from '../tools/command.mjs'
import { isInstalled } from '../tools/installed.mjs'
import { pack } from '../tools/pack.mjs'
import { openRedis } from '../tools/servers/start-redis.mjs'

const folder = await mkdtemp(join(tmpdir(), 'herdless-'))
const redis = await openRedis()
try {
  const tarball = await pack(join(folder, 'packed'))
  const judges = join(checkout, 'tools/judges')
  if (!(await isInstalled(judges))) await command('npm', ['ci', '--no-audit', '--no-fund'], { cwd: judges })
  const judge = (/** @type {string} */ name) => join(judges, 'node_modules/.bin', name)
  await command(judge('publint'), ['run', tarball, '--strict'])
  // Also as TypeScript resolves with `moduleResolution: node`, which knows no subpath exports.
  await command(judge('attw'), [tarball, '--profile', 'strict'])
  const project = join(folder, 'project')
  await install(tarball, project)
  await cp(join(checkout, 'test/package'), project, { recursive: true })
  await command('node', ['every-export.mjs'], { cwd: project })
  await command('node', ['stampede.mjs'], { cwd: project, env: { REDIS_URL: redis.url } })
  await command('npx', ['--no', 'herdless', 'doctor', '--command-timeout', '30s', redis.url], { cwd: project })
} finally {
  await redis.stop()
  await rm(folder, { recursive: true, force: true })
}

/**
 * @param {string} tarball
 * @param {string} project
 */
async function install(tarball, project) {
  const { peerDependencies } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8'))
  const { dependencies: ofNest } = JSON.parse(
    await readFile(join(checkout, 'test/apps/nest/on12/package.json'), 'utf8'),
  )
  // What an export imports by itself, and what the command needs.
  const peers = Object.fromEntries(['@opentelemetry/api', 'ioredis'].map((name) => [name, peerDependencies[name]]))
  const dependencies = { herdless: `file:${tarball}`, ...peers, ...ofNest }
  await mkdir(project)
  await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, dependencies }))
  await command('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: project })
}
