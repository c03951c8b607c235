import type { Command } from 'commander'
import type { Invalidation, Store } from '../../core/contract/store.ts'
import { checkKey, Keyspace } from '../../core/entry/key.ts'
import { checkedTags } from '../../core/entry/tags.ts'
import { checkAddress } from '../../http/purge.ts'
import { responseKey } from '../../http/stored/request-key.ts'
import { portOf } from '../../redis/clients/redis-client.ts'
import { redisStore, type RedisClient } from '../../redis/index.ts'
import { tagKey } from '../../redis/values/keys.ts'
import { connected } from '../connected.ts'
import { ending, UsageError } from '../ending.ts'
import { asJson } from '../lines.ts'
import { nothingIn, searchNamespace } from '../namespaces.ts'
import { planned, takingUrls, targetIn, understood, type TargetOptions } from '../target.ts'

interface PurgeOptions extends TargetOptions {
  readonly namespace?: string
  readonly key?: readonly string[]
  readonly url?: readonly string[]
  readonly tag?: readonly string[]
  readonly prefix?: readonly string[]
  readonly all?: true
  readonly soft?: true
  readonly json?: true
}

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
    .option('--namespace <name>', 'the namespace of the cache (default: herdless)')
    .option('--key <key>', 'the value of this key, in all versions', repeated)
    .option('--url <address>', 'the stored responses of this address: http://shop.example/products/7', repeated)
    .option('--tag <tag>', 'all values with this tag', repeated)
    .option('--prefix <prefix>', 'all values whose keys begin so; it ends with the separator of the cache', repeated)
    .option('--all', 'all values of the namespace; --all and --prefix need caches with the option `prefixes`')
    .option('--soft', 'end the ttl instead: values are served within their grace while they are refreshed')
    .option('--json', 'each as one line of JSON')
    .addHelpText(
      'after',
      '\nEnds with 0, with 1 if there is nothing in the namespace, or with 2 if nobody\ncould be asked, or no value can be reached by --prefix and --all.',
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
  const { namespace } = planned({ namespace: options.namespace })
  const asked = askedIn(options)
  const how = options.soft === true ? 'soft' : 'hard'
  return await connected(target, async (client) => {
    // A user without the right to SCAN may purge.
    const search = await searchNamespace(client, namespace).catch(() => null)
    if (search?.found === false) console.error(`herdless: ${nothingIn(namespace, search)}`)
    // Not even a tag is written: it would be there for a day, as if there were values.
    if (search?.found === false && search.complete) return 1
    if (search?.found === true) await checkReach(asked, client, namespace)
    const store = redisStore(client, { wakeUp: 'poll' })
    for (const each of asked) {
      const known = await voided(each, { client, store, namespace, how })
      const told = { namespace, ...each, soft: how === 'soft', known }
      console.log(options.json === true ? asJson(told) : asText(each, namespace, known ? how : 'unknown'))
    }
    return 0
  })
}

/** @throws UsageError */
function askedIn({ key = [], url = [], tag = [], prefix = [], all }: PurgeOptions): readonly Purged[] {
  understood(() => {
    for (const each of key) checkKey(each)
    for (const each of url) checkAddress(each)
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
 * Makes sure that the values of a namespace can be reached by their prefixes: all values of a cache with the option have
 * the empty one.
 * @throws UsageError
 */
async function checkReach(asked: readonly Purged[], client: RedisClient, namespace: string): Promise<void> {
  if (!asked.some(({ by }) => by === 'prefix' || by === 'all')) return
  if (await isKnown(prefixTag(namespace, ''), client)) return
  throw new UsageError(
    `Expected caches with the option \`prefixes\`, which --prefix and --all need: no value in namespace ${namespace} knows the prefixes of its key`,
  )
}

/** Whether a value has this tag, or had it a short time ago. */
async function isKnown(tag: string, client: RedisClient): Promise<boolean> {
  return (await portOf(client).get(tagKey(tag))) !== null
}

interface Place {
  readonly client: RedisClient
  readonly store: Store
  readonly namespace: string
  readonly how: Invalidation
}

/** Voids one thing; resolves with whether Redis knew of it before. A load under way is voided in any case. */
async function voided({ by, name }: Purged, { client, store, namespace, how }: Place): Promise<boolean> {
  const keyspace = new Keyspace(namespace, null)
  const ofTag = async (tag: string): Promise<boolean> => {
    const known = await isKnown(tag, client)
    await store.invalidateTags([tag], how)
    return known
  }
  switch (by) {
    case 'key':
    case 'url': {
      const key = by === 'key' ? name : responseKey(name)
      const own = keyspace.keyOf(key, null)
      const seen = await store.inspection?.look(own)
      // The application may have the option `version`: this tag is that of the values of all versions.
      const [versions] = await Promise.all([ofTag(keyspace.versionsTag(key)), store.invalidate(own, how)])
      return versions || [seen?.entry, seen?.lease, seen?.rest].some((part) => part != null)
    }
    case 'tag':
      return await ofTag(keyspace.tagKeys([name])[0] as string)
    case 'prefix':
    case 'all':
      return await ofTag(prefixTag(namespace, name))
  }
}

/** The tag of a prefix, in which the separator of the cache does not show: any end of the prefix will do. */
function prefixTag(namespace: string, prefix: string): string {
  return new Keyspace(namespace, prefix === '' ? ':' : prefix).prefixTag(prefix)
}

function asText({ by, name }: Purged, namespace: string, state: Invalidation | 'unknown'): string {
  const what = by === 'all' ? 'all keys' : `${by} ${JSON.stringify(name)}`
  return `${namespace} ${what}: ${{ hard: 'voided', soft: 'expired', unknown: nothingKnown[by] }[state]}`
}

const nothingKnown: Record<Purged['by'], string> = {
  key: 'nothing was stored under it',
  url: 'nothing was stored under it',
  tag: 'no value has it',
  prefix: 'no value has it; a prefix ends with the separator of the cache',
  all: 'no value knows the prefixes of its key',
}
