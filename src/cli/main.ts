#!/usr/bin/env node
import { Unanswered } from './connected.ts'
import { doctor } from './doctor/doctor.ts'
import { explain } from './explain.ts'
import { leases } from './leases.ts'
import { version } from './package.ts'
import { UsageError } from './target.ts'

const help = `Usage: herdless <command>

  herdless doctor <redis url>          examines a Redis, and says what is wrong with it as a place for a cache
  herdless explain <redis url> <key>   says what is known of a key: why there is no value, who loads it, who waits
  herdless leases <redis url>          lists the loads that are under way
  herdless <command> --help            its options
  herdless --version                   the version of this package
  herdless --help                      this text`

const commands = ['doctor', 'explain', 'leases']

/** Runs the command of a command line; resolves with the exit code. */
async function run([command, ...args]: readonly string[]): Promise<number> {
  switch (command) {
    case 'doctor':
      return doctor(args)
    case 'explain':
      return explain(args)
    case 'leases':
      return leases(args)
    case '--version':
    case '-v':
      console.log(version())
      return 0
    case '--help':
    case '-h':
      console.log(help)
      return 0
    default:
      throw new UsageError(command === undefined ? 'Expected a command' : `There is no command ${shortened(command)}`)
  }
}

// The word may be a URL with a password.
function shortened(word: string): string {
  return /^[\w-]{1,20}$/.test(word) ? word : 'of this name'
}

run(process.argv.slice(2)).then(
  (code) => void (process.exitCode = code),
  (error: unknown) => {
    const told = toldOf(error)
    console.error(`herdless: ${told}`)
    process.exitCode = 2
  },
)

function toldOf(error: unknown): string {
  if (error instanceof Unanswered) return `Nobody could be asked: ${error.message}`
  if (!(error instanceof UsageError)) return String(error instanceof Error ? error.stack : error)
  const command = process.argv[2] ?? ''
  return `${error.message}. \`herdless ${commands.includes(command) ? `${command} ` : ''}--help\` says more.`
}
