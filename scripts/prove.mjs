/** `npm run prove`: runs the nightly suites that prove the rooms in which the checkout differs from a commit, and says which they were. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { checkout, command } from '../tools/command.mjs'
import { runSuites } from '../tools/run-suites.mjs'
import { suites, suitesOf } from '../tools/suites.mjs'

const program = new Command('npm run prove --')
  .description('Runs the nightly suites that prove the rooms that have changed, and says which they were.')
  .argument('[rooms...]', 'folders of src, or paths of the checkout; by default all files that differ from --since')
  .option('--since <commit>', 'the commit to compare with; HEAD finds what is not committed yet', 'HEAD')
  .option('--list', 'only say which suites they are')
  .parse()
/** @type {{ since: string, list?: boolean }} */
const options = program.opts()

const changed = program.args.length > 0 ? program.args.map(pathOf) : filesSince(options.since)
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
  if (path === undefined) return program.error(`error: expected a folder of src or a path of the checkout, got ${room}`)
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
