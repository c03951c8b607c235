#!/usr/bin/env node
import { doctor } from './doctor/doctor.ts'
import { version } from './package.ts'
import { UsageError } from './usage-error.ts'

const help = `Usage: herdless <command>

  herdless doctor <redis url>   examines a Redis, and says what is wrong with it as a place for a cache
  herdless doctor --help        its options
  herdless --version            the version of this package
  herdless --help               this text`

/** Runs the command that the command line names; resolves with the code that the process is to end with. */
async function run([command, ...args]: readonly string[]): Promise<number> {
  switch (command) {
    case 'doctor':
      return doctor(args)
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

// It may be a URL with a password in it.
function shortened(word: string): string {
  return /^[\w-]{1,20}$/.test(word) ? word : 'of this name'
}

run(process.argv.slice(2)).then(
  (code) => void (process.exitCode = code),
  (error: unknown) => {
    const told =
      error instanceof UsageError
        ? `${error.message}. \`herdless ${process.argv[2] === 'doctor' ? 'doctor ' : ''}--help\` says more.`
        : String(stackOf(error))
    console.error(`herdless: ${told}`)
    process.exitCode = 2
  },
)

function stackOf(error: unknown): unknown {
  return error instanceof Error ? error.stack : error
}
