import type { Command } from 'commander'
import { connected } from './connected.ts'
import { ending } from './ending.ts'
import { heldLeases, type NamedLease } from './held.ts'
import { asJson, asLine } from './lines.ts'
import { plain } from './terminal.ts'
import { many, time } from './units.ts'
import { namespaceAsked, takingUrls, targetIn, type TargetOptions } from './target.ts'

interface LeasesOptions extends TargetOptions {
  readonly namespace?: string
  readonly json?: true
}

/** Adds `herdless leases`. */
export function addLeases(program: Command): void {
  const command = program
    .command('leases')
    .summary('lists the loads under way')
    .description(
      'Lists the loads under way, each with its process and the number of processes that wait. It goes through all keys of ' +
        'the server, a thousand at a time, and changes nothing.',
    )
    .option('--namespace <name>', 'of this namespace (default: of all)')
    .option('--json', 'each as one line of JSON')
    .addHelpText('after', '\nEnds with 0, or with 2 if nobody could be asked.')
    .action(ending(leases))
  takingUrls(command)
}

/** Resolves with the exit code. */
async function leases(urls: readonly string[], options: LeasesOptions): Promise<number> {
  const target = targetIn(options, urls)
  const namespace = namespaceAsked(options.namespace)
  const count = await connected(target, async (client) => {
    let found = 0
    for await (const lease of heldLeases(client, namespace)) {
      found++
      console.log(options.json === true ? asJson(lease) : asText(lease))
    }
    return found
  })
  if (options.json !== true) console.log(count === 0 ? 'Nothing is being loaded' : `\n${many(count, 'load')} under way`)
  return 0
}

function asText({ namespace, key, version, token, holder, age, left, renewals, waiting }: NamedLease): string {
  const who = holder === null ? 'somebody' : `process ${holder.pid} on ${holder.host}`
  const of = version === null ? '' : ` (version ${version})`
  const head = plain(`${namespace} ${JSON.stringify(key)}${of}  ${who}`)
  return `${head}\n${asLine('', { token, age: time(age), left: time(left), renewals, waiting })}`
}
