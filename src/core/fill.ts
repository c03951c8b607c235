import { drawn } from './clock.ts'
import { CacheError } from './errors.ts'
import { jittered } from './freshness.ts'
import { encoded } from './payload.ts'
import type { About } from './load.ts'
import type { Plan } from './plan.ts'
import type { Shared } from './shared.ts'
import type { Lease } from './store.ts'

/** What came of a fill: `refused` where the lease was lost; an error where the value cannot be stored, or the store is away. */
export type Filled =
  | { readonly state: 'filled' | 'refused' }
  | { readonly state: 'unfit' | 'unknown'; readonly error: CacheError }

/** Ends the load of a value: encodes it, and offers it to the store. */
export async function fill(
  shared: Shared,
  lease: Lease,
  key: string,
  plan: Plan,
  loaded: About & { value: unknown },
): Promise<Filled> {
  const { store, codec, events } = shared
  const { inlineLimit } = plan
  const { value, grace, loadTime, validators } = loaded
  const tags = shared.tagNames.of(key, loaded.tags)
  const ttl = jittered(loaded.ttl, plan.jitter, drawn(shared.clock))
  const payload = encoded(value, key, plan.maxValueSize, codec)
  if (payload instanceof CacheError) return { state: 'unfit', error: payload }
  try {
    if (await store.fill(lease, { payload, ttl, grace, loadTime, inlineLimit, tags, validators })) {
      events.emit('fill', { key, bytes: payload.byteLength, loadTime })
      return { state: 'filled' }
    }
    events.emit('refused', { key })
    return { state: 'refused' }
  } catch (error) {
    shared.unstored.add(key, shared.clock.now() - loadTime, payload)
    return { state: 'unknown', error: error as CacheError }
  }
}
