import { ErrorAnswer } from '../codec/error-answer.ts'
import { decodeEntry } from '../codec/payload.ts'
import { checkedValue } from '../codec/schema.ts'
import { freshnessOf } from '../entry/freshness.ts'
import { CacheError } from '../errors.ts'
import type { Migration } from '../options/checks.ts'
import type { CallPlan } from '../options/call-plans.ts'
import type { LoadContext, Loader } from './loader.ts'
import type { FlightParts } from './parts.ts'

type MigrationParts = Pick<FlightParts, 'store' | 'keyspace' | 'codec' | 'events'>

/**
 * A loader that first looks for a fresh value of an earlier version. It looks under the lease of its key: an
 * invalidation before the look has voided the earlier value, and one after it voids the load.
 */
export function migrating(loader: Loader<unknown>, call: CallPlan, parts: MigrationParts): Loader<unknown> {
  return async (context) => {
    // The value of this version may be newer than that of an earlier one.
    for (const migration of context.stale === null ? call.plan.migrate : []) {
      const found = await migrated(migration, context, call, parts)
      if (found !== null) return found.value
    }
    return await loader(context)
  }
}

/** The value that a migration makes; `null` if there is no fresh value of its version, or none that it can make one of. */
async function migrated(
  { from, migrate }: Migration,
  context: LoadContext,
  { plan, tags }: CallPlan,
  parts: MigrationParts,
): Promise<{ readonly value: unknown } | null> {
  const { key } = context
  const { store, keyspace, events } = parts
  const entry = await store.read(keyspace.keyOf(key, from), keyspace.tagsOf(key, tags, from)).catch(() => null)
  if (entry === null || freshnessOf(entry, 0) !== 'fresh') return null
  const old = decodeEntry(entry, key, parts, null)
  if (old === null || ErrorAnswer.is(old.value)) return null
  try {
    const value = await migrate(old.value)
    const checked = checkedValue(value, key, plan.schema)
    if (checked instanceof CacheError) throw checked
    context.ttl(entry.freshFor)
    context.grace(entry.staleFor - entry.freshFor)
    context.tags(...keyspace.ownTags(entry.tags))
    if (entry.validators !== null) context.validators(entry.validators)
    return { value }
  } catch (cause) {
    events.emit('garbage', { key, cause })
    return null
  }
}
