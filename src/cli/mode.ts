import type { Command } from 'commander'
import { modes, type FleetMode } from '../core/contract/mode.ts'
import { namespacePrefix } from '../core/entry/key.ts'
import { portOf } from '../redis/clients/redis-client.ts'
import { fleetMode, setFleetMode } from '../redis/values/fleet-mode.ts'
import { connected } from './connected.ts'
import { ending, UsageError } from './ending.ts'
import { asJson } from './lines.ts'
import { namespaceFound, nothingIn } from './namespaces.ts'
import { durationIn, planned, takingTarget, targetIn, type TargetOptions } from './target.ts'
import { painted, plain, wrapped } from './terminal.ts'
import { many, time } from './units.ts'

interface ModeOptions extends TargetOptions {
  readonly namespace?: string
  readonly for?: string
  readonly json?: true
}

/** How long a mode holds, unless the command line says so. */
const defaultTime = '10m'

/** Adds `herdless mode`. */
export function addMode(program: Command): void {
  const command = program
    .command('mode')
    .usage('[options] [cache|observe|off] [redis url...]')
    .summary('switches the caches of a namespace off for a while, in the whole fleet')
    .description(
      'Sets the mode of all caches of a namespace for a while, or shows it without one. `off`: loaders run, and calls of one ' +
        'process for a key join one load. `observe`: the loader of each call runs. In both nothing is read from Redis or ' +
        'stored there, and invalidations are carried out. `cache` ends it.',
    )
    .argument('[words...]')
    .option('--for <time>', `how long it holds, unless it is ended before (default: ${defaultTime})`)
    .option('--namespace <name>', 'the namespace of the cache (default: herdless, or the only one that there is)')
    .option('--json', 'the mode as one line of JSON')
    .addHelpText('after', '\nEnds with 0, or with 2 if nobody could be asked.')
    .action(ending(mode))
  takingTarget(command)
}

/** Resolves with the exit code. */
async function mode(words: readonly string[], options: ModeOptions): Promise<number> {
  const asked = modes.find((each) => each === words[0])
  // No URL, and no address.
  if (asked === undefined && /^\w+$/.test(words[0] ?? '')) {
    throw new UsageError(`Expected one of the modes ${modes.join(', ')}, got ${words[0]}`)
  }
  const target = targetIn(options, asked === undefined ? words : words.slice(1))
  planned({ namespace: options.namespace })
  if (options.for !== undefined && (asked === undefined || asked === 'cache')) {
    throw new UsageError(`Expected --for beside off or observe, got it beside ${asked ?? 'no mode'}`)
  }
  const ms = durationIn('--for', options.for ?? defaultTime)
  return await connected(target, async (client) => {
    const port = portOf(client)
    const { namespace, search } = await namespaceFound(client, options.namespace)
    // It is set all the same: Redis may have lost what was there.
    if (search?.found === false) console.error(wrapped(`herdless: ${nothingIn(namespace, search)}`, '', process.stderr))
    const prefix = namespacePrefix(namespace)
    const told = asked === undefined ? null : await setFleetMode(port, prefix, { mode: asked, ms })
    const now = await fleetMode(port, prefix)
    const { mode: set = 'cache' } = now ?? {}
    const left = now !== null && now.left < Number.POSITIVE_INFINITY ? now.left : null
    if (options.json === true) console.log(asJson({ namespace, mode: set, left, told }))
    else console.log(wrapped(asText(namespace, now, asked === undefined ? undefined : told), '  '))
    return 0
  })
}

/** @param told how many listeners were told; `null` if that is not known, `undefined` if nothing was set */
function asText(name: string, now: FleetMode | null, told: number | null | undefined): string {
  const namespace = plain(name)
  const { mode: set, left } = now ?? { mode: 'cache' as const, left: Number.POSITIVE_INFINITY }
  const state = painted(set === 'cache' ? 'green' : 'yellow', set)
  const until = left < Number.POSITIVE_INFINITY ? ` for ${time(left)}` : ''
  if (told === undefined) return `${namespace}: ${state}${until}`
  const heard = told === null ? 'Processes' : `${many(told, 'listener')} of this server told; other processes`
  return `${namespace}: ${state}${until}. ${heard} find it within 5 s`
}
