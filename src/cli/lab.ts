import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from 'commander'
import { UsageError } from './ending.ts'
import { packageFolder } from './package.ts'

/** Adds `herdless lab`. */
export function addLab(program: Command): void {
  program
    .command('lab')
    .summary('opens the stampede lab, in a clone of the repository')
    .description(
      'Opens the stampede lab as `npm run lab` does: a page on which four processes under load can be watched and disturbed, ' +
        'with and without herdless. It needs a clone of the repository, because the package does not contain it.',
    )
    .argument('[options...]', 'those of the lab: --headless, --port <n> and others')
    .allowUnknownOption()
    .addHelpText('after', '\nEnds with 2 where there is no lab, else as the lab does.')
    .action(lab)
}

/** Runs the lab in this process, which it ends. */
async function lab(options: readonly string[]): Promise<void> {
  const file = join(packageFolder(), 'scripts/lab.mjs')
  if (!existsSync(file)) {
    throw new UsageError('The lab is not in the package: run `npm ci` and `npm run lab` in a clone of the repository')
  }
  // The lab reads its own command line.
  process.argv.splice(1, Number.POSITIVE_INFINITY, file, ...options)
  await import(pathToFileURL(file).href)
}
