import { CacheError, errorOf, quoted } from './errors.ts'
import type { Flight } from './flight.ts'
import { freshness } from './freshness.ts'
import type { CallShared } from './get-or-load.ts'
import { leaseOf, toldLease, type HeldLease } from './leases.ts'
import { decoded } from './payload.ts'
import type { Entry, Seen } from './store.ts'

/** What `explain` tells of a key. All durations are milliseconds. */
export interface Explanation {
  readonly key: string
  /** What a call would find at this moment; `unknown` while the store does not answer. */
  readonly state: 'fresh' | 'stale' | 'missing' | 'unknown'
  /** Why that is so, and what goes on, in sentences for people; no more than is known. */
  readonly because: readonly string[]
  /** The value that is there, although it may not be served any more; `null` if there is none. */
  readonly value: ExplainedValue | null
  /** Who loads it now. */
  readonly load: HeldLease | null
  /** What the last load left behind instead of a value, and for how long that is the answer. */
  readonly rest:
    | { readonly state: 'failed'; readonly error: CacheError; readonly left: number }
    | { readonly state: 'pass'; readonly left: number }
    | null
  readonly here: ExplainedHere
}

/** A value, without itself. */
export interface ExplainedValue {
  readonly age: number
  /** What is left of its ttl; 0 when it is over. */
  readonly ttl: number
  /** For how long after its ttl it may be served, or may be still. */
  readonly grace: number
  /** The bytes of its payload. */
  readonly size: number
  readonly loadTime: number
  readonly tags: readonly string[]
  /** What was invalidated since its load began, or has been lost by the store, so that it is void. */
  readonly voidedBy: readonly { readonly by: 'tag' | 'prefix'; readonly name: string }[]
}

/** What this process does with a key. */
export interface ExplainedHere {
  /** `resting`: a load failed, and until its cool-down is over nobody here asks for another while there is a stale value. */
  readonly flight: 'none' | Exclude<Flight['state'], 'over'>
  /** How many callers have no answer yet. */
  readonly callers: number
  /** How many loads run or queue without a lease. */
  readonly loadsWithoutLease: number
  /** Why the store is not asked for anything at the moment. */
  readonly storeAway: CacheError | null
  /** Whether an invalidation is kept that the store has yet to be told of: until then the key is not read here. */
  readonly keptInvalidation: boolean
}

/** All that is known of a key. @param grace that of the cache */
export async function explained(key: string, grace: number, shared: CallShared): Promise<Explanation> {
  const seen = await look(key, shared)
  const here = hereOf(key, shared)
  if (seen instanceof CacheError) {
    const because = [`The store does not answer: ${seen.message}`]
    return { key, state: 'unknown', because, value: null, load: null, rest: null, here }
  }
  const { entry, rest } = seen
  const value = entry === null ? null : valueOf(entry, seen.voidedBy, grace, shared)
  const load = seen.lease === null ? null : toldLease(key, seen.lease)
  const left = rest?.left ?? 0
  const error = rest?.failure ? errorOf(rest.failure, key) : null
  const found = verdict(entry, value, grace, key, shared)
  const state = here.keptInvalidation ? 'missing' : found.state
  const because = [
    here.keptInvalidation
      ? 'It was invalidated here, and the store has yet to be told: until then this process does not read it'
      : found.because,
    ...(load === null ? [] : [`${leaseOf(load)}`]),
    ...(error === null
      ? []
      : [`Its last load failed, and that is the answer for another ${ms(left)}: ${error.message}`]),
    ...(rest !== null && error === null
      ? [`Its last loader said doNotStore(): for another ${ms(left)} nobody queues`]
      : []),
    ...(here.flight === 'resting'
      ? ['A load failed: until its cool-down is over, this process asks for no refresh']
      : []),
    ...(here.storeAway === null ? [] : [`The store is away for this process: ${here.storeAway.message}`]),
  ]
  const told = error === null ? { state: 'pass' as const, left } : { state: 'failed' as const, error, left }
  return { key, state, because, value, load, rest: rest === null ? null : told, here }
}

async function look(key: string, { store, named }: CallShared): Promise<Seen | CacheError> {
  const name = named(key)
  return await store
    .ask(async (backing) => {
      if (backing.inspection !== undefined) return await backing.inspection.look(name)
      return { entry: await backing.read(name), voidedBy: [], lease: null, rest: null }
    })
    .catch((error: CacheError) => error)
}

function hereOf(key: string, { store, named, flights, unleased, open }: CallShared): ExplainedHere {
  return {
    flight: flights.stateOf(key),
    callers: [...open].filter((call) => call.key === key).length,
    loadsWithoutLease: unleased.count(key),
    storeAway: store.silence,
    keptInvalidation: store.keeps(named(key)),
  }
}

function valueOf(entry: Entry, voidedBy: readonly string[], grace: number, { tagNames }: CallShared): ExplainedValue {
  const { age, freshFor, staleFor, payload, loadTime, tags } = entry
  return {
    age,
    ttl: Math.max(0, freshFor),
    grace: Math.max(0, Math.min(staleFor - Math.max(0, freshFor), grace + Math.min(0, freshFor))),
    size: payload.byteLength,
    loadTime,
    tags: tags.map((tag) => tagNames.told(tag)).flatMap(({ by, name }) => (by === 'tag' ? [name] : [])),
    voidedBy: voidedBy.map((tag) => tagNames.told(tag)),
  }
}

/** What of a value is served, and why. */
function verdict(
  entry: Entry | null,
  value: ExplainedValue | null,
  grace: number,
  key: string,
  shared: CallShared,
): Pick<Explanation, 'state'> & { readonly because: string } {
  if (entry === null || value === null) {
    const because = 'There is no value: it was never stored, or has expired, or was invalidated or evicted'
    return { state: 'missing', because }
  }
  if (value.voidedBy.length > 0) {
    const names = value.voidedBy.map(({ by, name }) => `${by} ${quoted(name)}`).join(', ')
    return {
      state: 'missing',
      because: `There is a value, but it is void: invalidated since its load began, or lost by the store: ${names}`,
    }
  }
  const { age, freshFor, staleFor } = entry
  const over = `its ttl ended ${ms(-freshFor)} ago`
  switch (freshness(entry, grace)) {
    case 'fresh':
      if (decoded(entry, key, shared) === null)
        return { state: 'missing', because: 'There is a value that this codec cannot decode' }
      return {
        state: 'fresh',
        because: `There is a value, written ${ms(age)} ago and fresh for another ${ms(freshFor)}`,
      }
    case 'stale':
      return {
        state: 'stale',
        because: `There is a value, but ${over}; it may be served for another ${ms(value.grace)}`,
      }
    case 'expired': {
      const why = staleFor > 0 ? `the grace of this cache is ${ms(grace)}` : 'so did its grace'
      return { state: 'missing', because: `There is a value, but ${over}, and ${why}` }
    }
  }
}

function ms(duration: number): string {
  return `${Math.round(duration)} ms`
}
