import { namespacePrefix } from '../core/entry/key.ts'
import { portOf } from '../redis/clients/redis-client.ts'
import type { RedisClient } from '../redis/index.ts'
import { tagKey } from '../redis/values/keys.ts'
import { mostSteps, scan, step } from './scan.ts'
import { planned } from './target.ts'
import { plain } from './terminal.ts'

/** The most namespaces that are named. */
const mostNamed = 20

/**
 * A value or a lease as `redisStore` names it, the list of the processes with near copies, or the mode of the fleet. The
 * keys of tags, which outlive their values, and those beside a lock have other endings.
 */
const ours = /^\{([^:{}]+:)(?:[^]+\}(?::lease)?|\}(?:copies|mode))$/

/** The search for a namespace among the keys of a server. */
export interface NamespaceSearch {
  /** Whether the namespace has a value, a lease or near copies. */
  readonly found: boolean
  /** The other namespaces that have some, up to 20; `[]` if it was found. */
  readonly others: readonly string[]
  /** Whether the search has seen all keys. */
  readonly complete: boolean
}

/** Searches a namespace: somebody may have mistyped its name. It looks at the first 50 000 keys of each server. */
export async function searchNamespace(client: RedisClient, namespace: string): Promise<NamespaceSearch> {
  const own = namespacePrefix(namespace)
  const prefixes = new Set<string>()
  let complete = true
  for (const server of portOf(client).nodes()) {
    let isLast = false
    for await (const keys of scan(server, '{*:*}*', mostSteps)) {
      isLast = keys.isLast
      for (const name of keys.names) {
        const [, prefix] = ours.exec(name) ?? []
        if (prefix !== undefined) prefixes.add(prefix)
      }
      if (prefixes.has(own)) return { found: true, others: [], complete: false }
    }
    complete &&= isLast
  }
  return { found: false, others: [...prefixes].map(namespaceIn).toSorted().slice(0, mostNamed), complete }
}

/** The sentence about a namespace that was not found. */
export function nothingIn(namespace: string, { others, complete }: NamespaceSearch): string {
  const nothing = complete
    ? `Nothing is stored in namespace ${namespace}`
    : `None of the first ${mostSteps * step} keys is in namespace ${namespace}`
  if (others.length === 0) return nothing
  return `${nothing}. Did you mean --namespace ${plain(new Intl.ListFormat('en', { type: 'disjunction' }).format(others))}?`
}

/**
 * The namespace of a command line, and what was found when it was searched; the only one of the server where none was
 * given.
 * @param given `undefined` for the default
 */
export async function namespaceFound(
  client: RedisClient,
  given: string | undefined,
): Promise<{ readonly namespace: string; readonly search: NamespaceSearch | null }> {
  const { namespace } = planned({ namespace: given })
  // A user may have no right to SCAN.
  const search = await searchNamespace(client, namespace).catch(() => null)
  const [only] = search?.others ?? []
  if (given !== undefined || only === undefined || search?.complete !== true || search.others.length > 1) {
    return { namespace, search }
  }
  return { namespace: only, search: { found: true, others: [], complete: false } }
}

/** Whether a value has this tag, by its name in the store, or had it a short time ago. */
export async function isKnown(tag: string, client: RedisClient): Promise<boolean> {
  return (await portOf(client).get(tagKey(tag))) !== null
}

/** The namespace in a key; the inverse of `namespacePrefix`. */
export function namespaceIn(key: string): string {
  return key.slice(0, key.indexOf(':')).replaceAll('%3A', ':').replaceAll('%25', '%')
}
