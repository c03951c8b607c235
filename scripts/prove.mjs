/**
 * `npm run prove`: runs the nightly suites that prove the rooms in which the checkout differs from a commit, and says which they were.
 *
 * npm run prove [-- --since HEAD~5] [-- redis/lua http/policy] [-- --list]
 *
 * Rooms are named as folders of src, or as paths of the checkout; without names, all files count that differ from `--since` (HEAD by default: what
 * is not committed yet).
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkout, command } from '../tools/command.mjs'
import { runSuites } from '../tools/run-suites.mjs'
import { suites, suitesOf } from '../tools/suites.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { since: { type: 'string', default: 'HEAD' }, list: { type: 'boolean', default: false } },
})

const changed = positionals.length > 0 ? positionals.map(pathOf) : filesSince(options.since)
const chosen = suitesOf('nightly').filter((name) => roomsOf(name).length > 0)
for (const name of chosen) console.log(`${name}: ${suites[name]?.proves} (${roomsOf(name).join(', ')})`)
if (chosen.length === 0) console.log('No room with a proof of its own has changed.')
if (!options.list && chosen.length > 0) await prove()

async function prove() {
  const count = { passed: 0, failed: 0, skipped: 0 }
  await command('npm', ['run', '--silent', 'build'])
  try {
    await runSuites(chosen, count)
  } catch (error) {
    console.log(`\n${error instanceof Error ? error.message : error}`)
    count.failed ||= 1
    process.exitCode = 1
  }
  console.log(`\nProved at ${git('describe', '--always', '--dirty')}: ${chosen.join(', ')}`)
  console.log(`${count.passed} passed, ${count.failed} failed${count.skipped > 0 ? `, ${count.skipped} skipped` : ''}`)
}

/** The rooms of a suite that have changed. @param {string} name */
function roomsOf(name) {
  const rooms = suites[name]?.rooms ?? []
  return rooms.filter((room) =>
    changed.some((path) => path.startsWith(room) || `${path}/`.startsWith(room) || room.startsWith(`${path}/`)),
  )
}

/** @param {string} room */
function pathOf(room) {
  const path = [`src/${room}`, room].find((each) => existsSync(join(checkout, each)))
  if (path === undefined) throw new TypeError(`Expected a folder of src or a path of the checkout, got ${room}`)
  return path.replace(/\/$/, '')
}

/** @param {string} commit */
function filesSince(commit) {
  const files = [git('diff', '--name-only', commit), git('ls-files', '--others', '--exclude-standard')]
  return files.flatMap((each) => each.split('\n')).filter(Boolean)
}

/** @param {string[]} args */
function git(...args) {
  return execFileSync('git', args, { cwd: checkout, encoding: 'utf8' }).trim()
}
