import { CacheError, quoted, withKey, ignoreRejection } from '../errors.ts'
import { freshnessOf } from '../entry/freshness.ts'
import { keyNamed } from '../entry/key.ts'
import { ErrorAnswer } from '../codec/error-answer.ts'
import { decodeEntry } from '../codec/payload.ts'
import type { Entry, Seen, SeenLease } from '../contract/store.ts'
import type { Mode } from '../contract/mode.ts'
import { checkToken } from '../lease/token.ts'
import { hostname } from 'node:os'
import type { CacheParts } from './assembly.ts'

/** The result of `explain`. All durations are milliseconds. */
export interface Explanation {
  readonly key: string
  /** The result that a call would find now; `unknown` while the store does not answer. */
  readonly state: 'fresh' | 'stale' | 'missing' | 'unknown'
  /** The reasons, as sentences for people. */
  readonly because: readonly string[]
  /** The stored value, even if it may not be served any more; `null` if there is none. */
  readonly value: ExplainedValue | null
  /** The load under way; `null` if there is none. */
  readonly load: HeldLease | null
  /** The outcome of the last load if it was no value, and how long it is the answer. */
  readonly rest:
    | { readonly state: 'failed'; readonly error: CacheError; readonly left: number }
    | { readonly state: 'pass'; readonly left: number }
    | null
  readonly here: ExplainedHere
}

/** The metadata of a value. */
export interface ExplainedValue {
  readonly age: number
  /** The rest of its ttl; 0 when it is over. */
  readonly ttl: number
  /** How long after its ttl it may be served, or may still be. */
  readonly grace: number
  /** The size of its payload, in bytes. */
  readonly size: number
  readonly loadTime: number
  readonly tags: readonly string[]
  /**
   * The tags and prefixes that void it: invalidated since its load began, or lost by the store. `key`: an invalidation of
   * the key, in all its versions.
   */
  readonly voidedBy: readonly { readonly by: 'tag' | 'prefix' | 'key'; readonly name: string }[]
  /** The tags and prefixes that have ended its ttl: softly invalidated since its load began. */
  readonly softenedBy: ExplainedValue['voidedBy']
}

/** The state of a key in this process. */
export interface ExplainedHere {
  /** `resting`: a load failed, and during its cool-down this process starts no refresh while there is a stale value. */
  readonly flight: 'none' | 'claiming' | 'waiting' | 'queued' | 'loading' | 'filling' | 'resting'
  /** How many callers have no answer yet. */
  readonly callers: number
  /** How many loads run or queue without a lease. */
  readonly loadsWithoutLease: number
  /** The error that opened the circuit breaker; `null` while commands are sent. */
  readonly storeAway: CacheError | null
  /** Whether an invalidation is kept for replay: until it is carried out, this process does not read the key. */
  readonly keptInvalidation: boolean
  /** The mode in force, as `cache.mode`. */
  readonly mode: Mode
}

/**
 * Explains a key.
 * @param plan the version of the value, and the grace of the cache in milliseconds
 */
export async function explainKey(
  key: string,
  { version, grace }: { readonly version: string | null; readonly grace: number },
  parts: CacheParts,
): Promise<Explanation> {
  const name = parts.keyspace.keyOf(key, version)
  const [seen] = await Promise.all([look(name, parts), parts.modes.look()])
  const here = hereOf(key, name, parts)
  if (seen instanceof CacheError) {
    return { key, state: 'unknown', because: [seen.message], value: null, load: null, rest: null, here }
  }
  const { entry, rest } = seen
  const value = entry === null ? null : valueOf(entry, seen, grace, parts)
  const load = seen.lease === null ? null : toldLease({ key, version }, seen.lease)
  const left = rest?.left ?? 0
  const error = rest?.failure ? parts.failures.revive(rest.failure, key, rest.left) : null
  const found = verdict({ key, grace, entry, value }, parts)
  const state = here.keptInvalidation || here.mode !== 'cache' ? 'missing' : found.state
  const because = [
    ...modeSaid(parts),
    here.keptInvalidation
      ? 'It was invalidated here, and the store has yet to be told: until then this process does not read it'
      : found.because,
    ...(load === null ? [] : [`${leaseOf(load)}`]),
    ...(error === null
      ? []
      : [`Its last load failed, and that is the answer for another ${ms(left)}: ${error.message}`]),
    ...(rest !== null && error === null
      ? [`Its last value was not to be stored, or could not be: for another ${ms(left)} nobody queues`]
      : []),
    ...(here.flight === 'resting'
      ? ['A load failed: until its cool-down is over, this process asks for no refresh']
      : []),
    ...(here.flight === 'queued'
      ? ['Its load waits here for a permit of its source, or without a lease for a place']
      : []),
    ...(here.storeAway === null ? [] : [`The store is away for this process: ${here.storeAway.message}`]),
  ]
  const told = error === null ? { state: 'pass' as const, left } : { state: 'failed' as const, error, left }
  return { key, state, because, value, load, rest: rest === null ? null : told, here }
}

async function look(name: string, { store }: CacheParts): Promise<Seen | CacheError> {
  return await store
    .ask(async (backing) => {
      if (backing.inspection !== undefined) return await backing.inspection.look(name)
      return { entry: await backing.read(name), voidedBy: [], softenedBy: [], lease: null, rest: null }
    })
    .catch((error: CacheError) => error)
}

function hereOf(key: string, name: string, { store, flights, unleased, modes }: CacheParts): ExplainedHere {
  return {
    flight: flights.stateOf(key),
    callers: flights.callersOf(key),
    loadsWithoutLease: unleased.count(key),
    storeAway: store.outage,
    keptInvalidation: store.hasPendingInvalidation(name),
    mode: modes.current,
  }
}

/** Explains the mode, unless it is `cache`. */
function modeSaid({ modes }: CacheParts): string[] {
  const { current: mode, fleet } = modes
  if (mode === 'cache') return []
  const left = fleet?.mode === mode && fleet.left < Number.POSITIVE_INFINITY ? `, for another ${ms(fleet.left)}` : ''
  const subject = `The ${fleet?.mode === mode ? 'namespace' : 'cache'} is ${{ observe: 'in observe mode', off: 'off' }[mode]}${left}`
  const loads = { observe: 'each call runs its loader', off: 'calls of this process load for themselves' }[mode]
  return [`${subject}: ${loads}, and the store is not read`]
}

function valueOf(entry: Entry, seen: Seen, grace: number, { keyspace }: CacheParts): ExplainedValue {
  const { age, freshFor, staleFor, payload, loadTime, tags } = entry
  return {
    age,
    ttl: Math.max(0, freshFor),
    grace: Math.max(0, Math.min(staleFor - Math.max(0, freshFor), grace + Math.min(0, freshFor))),
    size: payload.byteLength,
    loadTime,
    tags: keyspace.ownTags(tags),
    voidedBy: seen.voidedBy.map((tag) => keyspace.describeTag(tag)),
    softenedBy: seen.softenedBy.map((tag) => keyspace.describeTag(tag)),
  }
}

/** A look changes no count. */
const unheard = { emit: () => undefined }

/** Whether a value is served, and why. */
function verdict(
  { key, grace, entry, value }: { key: string; grace: number; entry: Entry | null; value: ExplainedValue | null },
  parts: CacheParts,
): Pick<Explanation, 'state'> & { readonly because: string } {
  if (entry === null || value === null) {
    const because = 'There is no value: it was never stored, or has expired, or was invalidated or evicted'
    return { state: 'missing', because }
  }
  if (value.voidedBy.length > 0) {
    return {
      state: 'missing',
      because: `There is a value, but it is void: invalidated since its load began, or lost by the store: ${namesOf(value.voidedBy)}`,
    }
  }
  const { age, freshFor, staleFor } = entry
  const by = value.softenedBy.length === 0 ? '' : `, by a soft invalidation of ${namesOf(value.softenedBy)}`
  const over = `its ttl ended ${ms(-freshFor)} ago${by}`
  const state = freshnessOf(entry, grace)
  if (state === 'expired') {
    const why = staleFor > 0 ? `the grace of this cache is ${ms(grace)}` : 'so did its grace'
    return { state: 'missing', because: `There is a value, but ${over}, and ${why}` }
  }
  const found = decodeEntry(entry, key, { codec: parts.codec, events: unheard }, null)
  if (found === null) return { state: 'missing', because: 'There is a value that this codec cannot decode' }
  if (parts.unstored.isOlder(key, entry)) {
    const because = 'There is a value, but this process has given its callers a newer one, which could not be stored'
    return { state: 'missing', because }
  }
  const what = ErrorAnswer.is(found.value)
    ? `There is an answer, the error ${quoted(found.value.error.message)}`
    : 'There is a value'
  return state === 'fresh'
    ? { state, because: `${what}, written ${ms(age)} ago and fresh for another ${ms(freshFor)}` }
    : { state, because: `${what}, but ${over}; it may be served for another ${ms(value.grace)}` }
}

function namesOf(tags: ExplainedValue['voidedBy']): string {
  return tags.map(({ by, name }) => `${by} ${quoted(name)}`).join(', ')
}

function ms(duration: number): string {
  return `${Math.round(duration)} ms`
}

/** A load under way in the fleet. Durations are milliseconds. */
export interface HeldLease {
  readonly key: string
  /** The version of the value that is loaded; `null` without one. */
  readonly version: string | null
  /** Identifies this load, for `breakLease`. */
  readonly token: string
  /** The fencing token that the loader received. */
  readonly fence: bigint
  /** The loading process; `null` if it is not known. */
  readonly holder: Holder | null
  /** The trace context of the load, such as a `traceparent`; `null` without a tracer. */
  readonly context: string | null
  /** How long the lease has been held. */
  readonly age: number
  /** How long the lease will be held at least, unless it is released or broken. */
  readonly left: number
  readonly renewals: number
  /** How many processes wait for the load; `null` if the store does not know. */
  readonly waiting: number | null
}

/** A lease under the caller's name of the key. */
export function toldLease(
  { key, version }: { readonly key: string; readonly version: string | null },
  seen: SeenLease,
): HeldLease {
  const { token, fence, holder, context, age, left, renewals, waiting } = seen
  return {
    key,
    version,
    token,
    fence,
    holder: parseHolder(holder),
    context: context || null,
    age,
    left,
    renewals,
    waiting,
  }
}

/** Iterates over the held leases as the store finds them. */
export async function* listLeases({
  store,
  keyspace,
}: Pick<CacheParts, 'store' | 'keyspace'>): AsyncGenerator<HeldLease, void> {
  const namespace = keyspace.prefix
  const steps = await store.ask(async ({ inspection }) => inspection?.leases?.(namespace))
  if (steps === undefined) {
    throw new TypeError('Expected a store that can list its leases, which no plain key-value store can')
  }
  try {
    for (;;) {
      // A deadline per step, and none for the whole.
      const step = await store.ask(() => steps.next())
      if (step.done === true) return
      for (const lease of step.value) yield toldLease(keyNamed(lease.key.slice(namespace.length)), lease)
    }
  } finally {
    // Not awaited: it would wait for a step that the store has not answered.
    ignoreRejection(Promise.resolve(steps.return?.()))
  }
}

/** Voids one load; see `Cache.breakLease`. */
export async function breakLease(
  key: string,
  token: string,
  version: string | null,
  { store, keyspace }: Pick<CacheParts, 'store' | 'keyspace'>,
): Promise<boolean> {
  checkToken(token)
  return await store
    .ask(async ({ inspection }) => (await inspection?.breakLease(keyspace.keyOf(key, version), token)) ?? false)
    .catch((error: CacheError) => {
      throw withKey(key, error)
    })
}

/** A lease in a sentence. */
export function leaseOf({ holder, age, left, renewals, waiting }: HeldLease): string {
  const who = holder === null ? 'Somebody' : `Process ${holder.pid} on ${holder.host}`
  const times = `for ${Math.round(age)} ms (renewed ${renewals} times, ${Math.round(left)} ms left)`
  const others = waiting === null ? '' : `; processes that wait: ${waiting}`
  return `${who} has loaded it ${times}${others}`
}

/** The process that holds a lease. */
export interface Holder {
  readonly host: string
  readonly pid: number
}

/**
 * The longest host name in a claim, in characters; it keeps a lease in the compact encoding of Redis (64 bytes a
 * field).
 */
const longestHost = 56

/** The description of this process in its claims: `<pid>@<host>`. */
export function describeHolder(): string {
  return `${process.pid}@${hostname().slice(0, longestHost)}`
}

/** Parses such a description; `null` for any other text, which a foreign client may have written. */
export function parseHolder(text: string): Holder | null {
  const [, pid, host] = /^(\d{1,10})@(.{1,256})$/s.exec(text) ?? []
  return pid === undefined || host === undefined ? null : { host, pid: Number(pid) }
}
