import type { Command } from 'commander'
import { portOf } from '../redis/clients/redis-client.ts'
import type { RedisClient } from '../redis/index.ts'
import { lookAtSource, sourcePrefix, type SourceState } from '../redis/locks/permits.ts'
import { connected } from './connected.ts'
import { ending } from './ending.ts'
import { asJson } from './lines.ts'
import { scan } from './scan.ts'
import { durationIn, takingUrls, targetIn, type TargetOptions } from './target.ts'
import { plain } from './terminal.ts'
import { many, time } from './units.ts'
import { leastInterval, lookAgain } from './watch/rounds.ts'

interface SourcesOptions extends TargetOptions {
  readonly watch?: true
  readonly interval: string
  readonly json?: true
}

/** Adds `herdless sources`. */
export function addSources(program: Command): void {
  const command = program
    .command('sources')
    .summary('lists the sources with limits, and the loads from them')
    .description(
      'Lists the sources with limits: the loads that run and how long the oldest has run, and the processes that wait. ' +
        'It goes through all keys of the server, a thousand at a time, and changes nothing.',
    )
    .option('--watch', 'again and again, until it is interrupted')
    .option('--interval <time>', 'with --watch, the time from one look to the next', '1s')
    .option('--json', 'each as one line of JSON')
    .addHelpText('after', '\nEnds with 0, with --watch by Ctrl+C, or with 2 if nobody could be asked.')
    .action(ending(sources))
  takingUrls(command)
}

/** Resolves with the exit code. */
async function sources(urls: readonly string[], options: SourcesOptions): Promise<number> {
  const target = targetIn(options, urls)
  const isJson = options.json === true
  if (options.watch !== true) {
    print(await connected(target, usedSources), isJson)
    return 0
  }
  const interval = durationIn('--interval', options.interval, leastInterval)
  await lookAgain(target, interval, async (client) => {
    const found = await usedSources(client)
    return () => {
      if (!isJson) console.log(new Date().toISOString())
      print(found, isJson)
    }
  })
  return 0
}

function print(found: readonly SourceState[], isJson: boolean): void {
  for (const state of found) console.log(isJson ? asJson(state) : asText(state))
  if (found.length === 0 && !isJson) console.log('No source is in use')
}

/** The sources in use, by name. */
async function usedSources(client: RedisClient): Promise<SourceState[]> {
  const port = portOf(client)
  const names = new Set<string>()
  for (const server of port.nodes()) {
    for await (const keys of scan(server, `${sourcePrefix}*`, Number.POSITIVE_INFINITY)) {
      for (const name of keys.names) names.add(name.slice(sourcePrefix.length))
    }
  }
  const states = await Promise.all([...names].toSorted().map((name) => lookAtSource(port, name)))
  return states.filter((state) => state !== null)
}

function asText({ source, concurrency, held, oldest, users, waiting, rate }: SourceState): string {
  const running = concurrency === null ? many(held, 'load') : `${held} of ${many(concurrency, 'load')}`
  const limits = rate === null ? '' : `, ${rate.begun} of ${rate.loads} begun within ${time(rate.per)}`
  const age = oldest === null ? '' : `, the oldest for ${time(oldest)}`
  const queue = waiting.users === 0 ? '' : `, ${waiting.users} wait for ${many(waiting.permits, 'load')}`
  return plain(
    `${JSON.stringify(source)}  ${running} running${age}${limits}; ${many(users, 'process', 'processes')}${queue}`,
  )
}
