import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { RedisClient } from '../../redis/index.ts'
import { connected } from '../connected.ts'
import { ending } from '../ending.ts'
import { heldLeases, type NamedLease } from '../held.ts'
import { durationIn, namespaceAsked, takingUrls, targetIn, type TargetOptions } from '../target.ts'
import { jsonDisplay, terminalDisplay, type Display } from './display.ts'
import { pauseAfter, snapshotOf, type Snapshot } from './snapshot.ts'

interface WatchOptions extends TargetOptions {
  readonly namespace?: string
  readonly interval: string
  readonly json?: true
}

/** The shortest interval between two looks, in milliseconds. */
const leastInterval = 100

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
  await connected(target, async (client) => {
    const interrupted = new AbortController()
    const stop = (): void => {
      interrupted.abort()
      // A command may be under way that is not answered for a while.
      client.disconnect()
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
    for (const signal of signals) process.on(signal, stop)
    // The reader of a pipe may go away.
    process.stdout.on('error', stop)
    const display = options.json !== true && process.stdout.isTTY ? terminalDisplay(process.stdout) : jsonDisplay
    try {
      await showRounds({ client, namespace, interval, display, signal: interrupted.signal })
    } catch (error) {
      if (!interrupted.signal.aborted) throw error
    } finally {
      display.close()
      for (const signal of signals) process.off(signal, stop)
    }
  })
  return 0
}

interface Watched {
  readonly client: RedisClient
  readonly namespace: string | null
  readonly interval: number
  readonly display: Display
  readonly signal: AbortSignal
}

/** Looks again and again, until the signal is aborted. */
async function showRounds({ client, namespace, interval, display, signal }: Watched): Promise<void> {
  let before: Snapshot | null = null
  while (!signal.aborted) {
    const startedAt = performance.now()
    const found = await all(heldLeases(client, namespace))
    const took = performance.now() - startedAt
    before = snapshotOf(found, before, { time: new Date().toISOString(), took })
    const pause = pauseAfter(took, interval)
    display.show(before, pause)
    await sleep(pause, undefined, { signal })
  }
}

async function all(leases: AsyncIterable<NamedLease>): Promise<readonly NamedLease[]> {
  const found: NamedLease[] = []
  for await (const lease of leases) found.push(lease)
  return found
}
