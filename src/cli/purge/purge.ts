import type { Command } from 'commander'
import type { Invalidation, Store } from '../../core/contract/store.ts'
import { checkKey, Keyspace, namespacePrefix } from '../../core/entry/key.ts'
import { checkedTags } from '../../core/entry/tags.ts'
import { eachOf, namesIn } from '../../core/cache/clearing.ts'
import { keyOfAddress } from '../../http/purge.ts'
import { redisStore, type RedisClient } from '../../redis/index.ts'
import { connected } from '../connected.ts'
import { ending, UsageError } from '../ending.ts'
import { asJson } from '../lines.ts'
import { isKnown, namespaceFound, nothingIn } from '../namespaces.ts'
import { painted, plain, wrapped } from '../terminal.ts'
import { durationIn, planned, takingUrls, targetIn, understood, type TargetOptions } from '../target.ts'
import { many } from '../units.ts'
import { countReached, type Count, type Reach } from './count.ts'

interface PurgeOptions extends TargetOptions {
  readonly namespace?: string
  readonly key?: readonly string[]
  readonly url?: readonly string[]
  readonly tag?: readonly string[]
  readonly prefix?: readonly string[]
  readonly all?: true
  readonly soft?: true
  readonly within?: string
  readonly dryRun?: true
  readonly json?: true
}

/** All values of a namespace, one after the other. */
const everything: Reach = { own: null, tag: null }

/** One thing to void. The name of `all` is empty. */
interface Purged {
  readonly by: 'key' | 'url' | 'tag' | 'prefix' | 'all'
  readonly name: string
}

/** Adds `herdless purge`. */
export function addPurge(program: Command): void {
  const command = program
    .command('purge')
    .summary('voids values by key, address, tag or prefix')
    .description(
      'Voids values of a namespace in the whole fleet, as `invalidate`, `invalidateTags`, `invalidatePrefix` and `clear` of ' +
        'a cache do: a load that is under way is refused, and near copies are dropped. Each option but --all may be given ' +
        'several times.',
    )
    .option('--namespace <name>', 'the namespace of the cache (default: herdless, or the only one that there is)')
    .option('--key <key>', 'the value of this key, in all versions', repeated)
    .option('--url <address>', 'the stored responses of this address: http://shop.example/products/7', repeated)
    .option('--tag <tag>', 'all values with this tag', repeated)
    .option(
      '--prefix <prefix>',
      'all values whose keys begin so, with the separator of a cache with `prefixes`',
      repeated,
    )
    .option('--all', 'all values of the namespace; one after the other, unless the caches have `prefixes`')
    .option('--soft', 'end the ttl instead: values are served within their grace while they are refreshed')
    .option('--within <time>', 'with --soft, serve them for no longer than this: 1m')
    .option('--dry-run', 'void nothing, and say how many values there are')
    .option('--json', 'each as one line of JSON')
    .addHelpText(
      'after',
      '\nEnds with 0, with 1 if there is nothing in the namespace, or with 2 if nobody\ncould be asked, or no value can be reached by --prefix.',
    )
    .action(ending(purge))
  takingUrls(command)
}

function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/** Resolves with the exit code. */
async function purge(urls: readonly string[], options: PurgeOptions): Promise<number> {
  const target = targetIn(options, urls)
  planned({ namespace: options.namespace })
  const asked = askedIn(options)
  const how = howIn(options)
  const dryRun = options.dryRun === true
  return await connected(target, async (client) => {
    const { namespace, search } = await namespaceFound(client, options.namespace)
    if (search?.found === false) console.error(wrapped(`herdless: ${nothingIn(namespace, search)}`, '', process.stderr))
    // Not even a tag is written: it would be there for a day, as if there were values.
    if (search?.found === false && search.complete) return 1
    if (search?.found === true) await checkReach(asked, client, namespace)
    const reaches = await Promise.all(asked.map((each) => reachOf(each, namespace, client)))
    const counts = await countReached(client, { namespace, reaches: [...reaches, everything], isThorough: dryRun })
    const all = counts?.at(-1)
    const store = redisStore(client, { wakeUp: 'poll' })
    for (const [index, each] of asked.entries()) {
      const reach = reaches[index] as Reach
      const known = await isKnownOf(reach, client, store)
      const reached = counts?.[index]
      // Caches of the namespace may have the option `prefixes` since a short time ago, or some of them.
      const isMixed = each.by === 'all' && (reached?.values ?? 0) < (all?.values ?? 0)
      if (!dryRun) await voided(reach, namespace, store, how)
      if (!dryRun && isMixed) await voided(everything, namespace, store, how)
      // The values of an address are its variants, whose number is not known.
      const count = each.by === 'url' ? null : ((isMixed ? all : reached) ?? null)
      const told = { namespace, ...each, soft: how !== 'hard', dryRun, known, values: count?.values ?? null }
      console.log(
        options.json === true ? asJson(told) : asText(each, namespace, said({ ...each, how, dryRun, known, count })),
      )
    }
    return 0
  })
}

/** @throws UsageError */
function howIn({ soft, within }: PurgeOptions): Invalidation {
  const ms = durationIn('--within', within)
  if (soft === true) return ms ?? 'soft'
  if (ms === undefined) return 'hard'
  throw new UsageError('Expected --soft beside --within')
}

/** @throws UsageError */
function askedIn({ key = [], url = [], tag = [], prefix = [], all }: PurgeOptions): readonly Purged[] {
  understood(() => {
    for (const each of key) checkKey(each)
    for (const each of url) keyOfAddress(each)
    for (const each of tag) checkedTags('--tag', [each])
  })
  if (prefix.includes('')) throw new UsageError('Expected --prefix to be some characters; --all is for all keys')
  const by = (how: Purged['by'], names: readonly string[]): Purged[] => names.map((name) => ({ by: how, name }))
  const asked = [...by('key', key), ...by('url', url), ...by('tag', tag), ...by('prefix', prefix)]
  if (all === true) asked.push({ by: 'all', name: '' })
  if (asked.length > 0) return asked
  throw new UsageError('Expected --key, --url, --tag, --prefix or --all, to say what is to be purged')
}

/**
 * Makes sure that the values of a namespace can be reached by their prefixes.
 * @throws UsageError
 */
async function checkReach(asked: readonly Purged[], client: RedisClient, namespace: string): Promise<void> {
  if (!asked.some(({ by }) => by === 'prefix') || (await hasPrefixes(namespace, client))) return
  throw new UsageError(
    `Expected caches with the option \`prefixes\`, which --prefix needs: no value in namespace ${namespace} knows the prefixes of its key`,
  )
}

/** Whether the caches of a namespace have the option `prefixes`: then all values have the empty one. */
async function hasPrefixes(namespace: string, client: RedisClient): Promise<boolean> {
  return await isKnown(prefixTag(namespace, ''), client)
}

/** The names in the store of what is to be voided. */
async function reachOf({ by, name }: Purged, namespace: string, client: RedisClient): Promise<Reach> {
  const keyspace = new Keyspace(namespace, null)
  switch (by) {
    case 'key':
    case 'url': {
      const key = by === 'key' ? name : keyOfAddress(name)
      // The application may have the option `version`: this tag is that of the values of all versions.
      return { own: keyspace.keyOf(key, null), tag: keyspace.versionsTag(key) }
    }
    case 'tag':
      return { own: null, tag: keyspace.tagKeys([name])[0] as string }
    case 'prefix':
      return { own: null, tag: prefixTag(namespace, name) }
    case 'all':
      return (await hasPrefixes(namespace, client)) ? { own: null, tag: prefixTag(namespace, name) } : everything
  }
}

/** Whether Redis knows of it, at the moment or a short time ago. */
async function isKnownOf({ own, tag }: Reach, client: RedisClient, store: Store): Promise<boolean> {
  const [isTagKnown, seen] = await Promise.all([
    tag === null || isKnown(tag, client),
    own === null ? undefined : store.inspection?.look(own),
  ])
  return isTagKnown || [seen?.entry, seen?.lease, seen?.rest].some((part) => part != null)
}

/** Voids one thing, a load under way included. */
async function voided({ own, tag }: Reach, namespace: string, store: Store, how: Invalidation): Promise<void> {
  if (tag !== null) {
    await Promise.all([store.invalidateTags([tag], how), own === null ? undefined : store.invalidate(own, how)])
    return
  }
  const steps = (await namesIn(namespacePrefix(namespace), (run) => run(store))) ?? []
  for await (const names of steps) await eachOf(names, (name) => store.invalidate(name, how))
}

/** The tag of a prefix, in which the separator of the cache does not show: any end of the prefix will do. */
function prefixTag(namespace: string, prefix: string): string {
  return new Keyspace(namespace, prefix === '' ? ':' : prefix).prefixTag(prefix)
}

function asText({ by, name }: Purged, namespace: string, outcome: string): string {
  const what = by === 'all' ? 'all keys' : `${by} ${JSON.stringify(name)}`
  return wrapped(`${plain(`${namespace} ${what}`)}: ${outcome}`, '  ')
}

interface Outcome extends Purged {
  readonly how: Invalidation
  readonly dryRun: boolean
  readonly known: boolean
  readonly count: Count | null
}

function said({ by, how, dryRun, known, count }: Outcome): string {
  const isNothing = count?.values === 0 && count.isComplete && by !== 'key'
  if (!known || isNothing) return painted('yellow', nothingKnown[by])
  const [verb, past] = how === 'hard' ? ['void', 'voided'] : ['expire', 'expired']
  const done = dryRun ? `would ${verb}` : past
  if (count === null || count.values === 0) return dryRun ? `${done} what there is` : done
  return `${done} ${count.isComplete ? '' : 'at least '}${many(count.values, 'value')}`
}

const nothingKnown: Record<Purged['by'], string> = {
  key: 'nothing was stored under it',
  url: 'nothing was stored under it',
  tag: 'no value has it',
  prefix: 'no value has it; a prefix ends with the separator of the cache',
  all: 'there is none',
}
