import type { Command } from 'commander'
import { ending } from '../ending.ts'
import { heldLeases, type NamedLease } from '../held.ts'
import { durationIn, namespaceAsked, takingUrls, targetIn, type TargetOptions } from '../target.ts'
import { jsonDisplay, terminalDisplay, type Display } from './display.ts'
import { leastInterval, lookAgain } from './rounds.ts'
import { snapshotOf, type Snapshot } from './snapshot.ts'

interface WatchOptions extends TargetOptions {
  readonly namespace?: string
  readonly interval: string
  readonly json?: true
}

/** Adds `herdless watch`. */
export function addWatch(program: Command): void {
  const command = program
    .command('watch')
    .summary('shows the loads under way as they come and go, stampedes first')
    .description(
      'Shows the loads under way in a table, again and again: those for which most processes wait come first, then the ' +
        'oldest. Each look goes through all keys of the server, a thousand at a time. If a look takes long, the interval ' +
        'grows, so that looks take a tenth of the time at most. It changes nothing.',
    )
    .option('--namespace <name>', 'of this namespace (default: of all)')
    .option('--interval <time>', 'the time from one look to the next', '1s')
    .option('--json', 'each look as one line of JSON, as where there is no terminal')
    .addHelpText('after', '\nCtrl+C ends it with 0. It ends with 2 if nobody could be asked, or no longer.')
    .action(ending(watch))
  takingUrls(command)
}

/** Resolves with the exit code. */
async function watch(urls: readonly string[], options: WatchOptions): Promise<number> {
  const target = targetIn(options, urls)
  const namespace = namespaceAsked(options.namespace)
  const interval = durationIn('--interval', options.interval, leastInterval)
  const isTable = options.json !== true && process.stdout.isTTY
  let display: Display | undefined
  let before: Snapshot | null = null
  try {
    await lookAgain(target, interval, async (client) => {
      const startedAt = performance.now()
      const found = await all(heldLeases(client, namespace))
      const seen = (before = snapshotOf(found, before, {
        time: new Date().toISOString(),
        took: performance.now() - startedAt,
      }))
      const shown = (display ??= isTable ? terminalDisplay(process.stdout) : jsonDisplay)
      return (pause) => shown.show(seen, pause)
    })
  } finally {
    display?.close()
  }
  return 0
}

async function all(leases: AsyncIterable<NamedLease>): Promise<readonly NamedLease[]> {
  const found: NamedLease[] = []
  for await (const lease of leases) found.push(lease)
  return found
}
