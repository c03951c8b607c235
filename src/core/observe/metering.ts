import { modes, type Mode } from '../contract/mode.ts'
import type { CacheErrorCode } from '../errors.ts'
import type { CacheEvents, Events } from './events.ts'

/** Makes the metrics of one cache, under its namespace. Names carry no unit. */
export interface Meters {
  /** A counter that starts at zero; `by` defaults to 1. */
  counter(name: string, help: string, labels?: Readonly<Record<string, string>>): (by?: number) => void
  /** A counter of bytes. */
  bytes(name: string, help: string): (by: number) => void
  gauge(name: string, help: string, labels?: Readonly<Record<string, string>>): (value: number) => void
  /** A gauge of a time; it is fed milliseconds. */
  time(name: string, help: string, labels?: Readonly<Record<string, string>>): (ms: number) => void
  /** A histogram; it is fed milliseconds. */
  duration(name: string, help: string): (ms: number) => void
}

/** The upper bounds of histogram buckets, in seconds. */
export const defaultBuckets: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60,
]

/** The events that are only counted. */
const counted: readonly (readonly [event: keyof CacheEvents, name: string, help: string])[] = [
  ['miss', 'misses', 'Callers that found no value to serve at once'],
  ['wait', 'waits', 'Loads of other processes that were waited for'],
  ['refreshAhead', 'refreshes_ahead', 'Values whose refresh was asked for before their time'],
  ['unstorable', 'unstorable_values', 'Loaded values that could not be stored'],
  ['refused', 'refused_fills', 'Loads that ended after their lease was gone, so that nothing was written'],
  ['lost', 'lost_leases', 'Leases that were lost while their load was running'],
  ['garbage', 'garbage', 'Values in the store that could not be decoded, or did not pass their schema'],
  ['storeFailure', 'store_failures', 'Commands to the store that failed or were not answered in time'],
  ['queued', 'queued_loads', 'Loads that waited for a permit of their source'],
  ['overloaded', 'overloads', 'Loads that were refused because too many queued, or by the limits of their source'],
  [
    'crowdedOut',
    'crowded_out',
    'Responses that were voided because an address had too many that differ by request fields',
  ],
]

const invalidations = [
  ['invalidate', 'key'],
  ['invalidateTags', 'tags'],
  ['invalidatePrefix', 'prefix'],
] as const

/** Feeds the metrics of a cache from now on; returns a function that stops it. No metric names a key. */
export function metered(cache: Pick<Events, 'on'> & { stats(): { readonly mode: Mode } }, meters: Meters): () => void {
  const listens: (() => () => void)[] = []
  const on = <Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): void => {
    listens.push(() => cache.on(name, listener))
  }

  on('hit', hitsOf(meters))
  const staleHits = meters.counter('stale_hits', 'Calls that were served a stale value at once')
  on('stale', ({ missed = false }) => {
    if (!missed) staleHits()
  })
  for (const [event, name, help] of counted) {
    const count = meters.counter(name, help)
    on(event, () => count())
  }

  const loads = (leased: boolean): (() => void) =>
    meters.counter('loads', 'Loaders that were started', { leased: String(leased) })
  const [withLease, without] = [loads(true), loads(false)]
  on('load', ({ leased }) => (leased ? withLease() : without()))

  const fills = meters.counter('fills', 'Loaded values that the store accepted')
  const bytes = meters.bytes('fill_bytes', 'The bytes of the loaded values that the store accepted')
  const loadTime = meters.duration('load', 'How long the loads took whose values were accepted')
  on('fill', (fill) => {
    fills()
    bytes(fill.bytes)
    loadTime(fill.loadTime)
  })

  on('failure', failuresOf(meters))

  const waitTime = meters.duration('wait', 'How long loads of other processes were waited for')
  on('waited', ({ duration }) => waitTime(duration))
  const permitTime = meters.duration('permit_wait', 'How long loads waited for a permit of their source')
  on('permitted', ({ duration }) => permitTime(duration))
  const permits = new Map<string, (use: CacheEvents['permits']) => void>()
  on('permits', (use) => {
    const note = permits.get(use.source) ?? permitsOf(use.source, meters)
    permits.set(use.source, note)
    note(use)
  })
  const answerTime = meters.duration('answer', 'How long callers that had missed waited for an answer')
  on('answer', ({ duration }) => answerTime(duration))

  for (const [event, by] of invalidations) on(event, invalidationsOf(by, meters))

  const degraded = meters.gauge('degraded', 'Whether the store does not answer')
  degraded(0)
  on('degraded', () => degraded(1))
  on('recovered', () => degraded(0))
  on('mode', modesOf(meters, cache.stats()))
  // Unknown until the store reports it; a store without push never does.
  const push = meters.gauge('push_up', 'Whether outcomes are pushed to this process')
  on('push', ({ up }) => push(up ? 1 : 0))
  const kept = meters.gauge('kept_invalidations', 'Invalidations that the store has yet to be told of')
  kept(0)
  on('kept', ({ invalidations: count }) => kept(count))
  on('replayed', () => kept(0))

  // A library that refuses to make a meter leaves no listener behind.
  const offs = listens.map((listen) => listen())
  return () => {
    for (const off of offs.splice(0)) off()
  }
}

/** Counts the calls that were served a fresh value at once. Of a caller that had missed, the miss is counted. */
function hitsOf(meters: Meters): (hit: CacheEvents['hit']) => void {
  const hits = meters.counter('hits', 'Calls that were served a fresh value at once')
  const nearHits = meters.counter('near_hits', 'Those of them that were copies in this process')
  return ({ near = false, missed = false }) => {
    if (missed) return
    hits()
    if (near) nearHits()
  }
}

/** Counts failed loads by their code; those that any cache may have are there from the beginning. */
function failuresOf(meters: Meters): (failure: CacheEvents['failure']) => void {
  const counts = new Map<CacheErrorCode, () => void>()
  const countOf = (code: CacheErrorCode): (() => void) => {
    const count = counts.get(code) ?? meters.counter('failures', 'Loads that failed, by code', { code })
    counts.set(code, count)
    return count
  }
  countOf('LOAD_FAILED')
  countOf('LOAD_TIMEOUT')
  return ({ error }) => countOf(error.code)()
}

/** Notes the mode in force. */
function modesOf(meters: Meters, first: { readonly mode: Mode }): (now: { readonly mode: Mode }) => void {
  const gauge = meters.gauge('mode', 'The mode in force: 0 for cache, 1 for observe, 2 for off')
  const note = ({ mode }: { readonly mode: Mode }): void => gauge(modes.indexOf(mode))
  note(first)
  return note
}

/** Notes what this process holds of a source. */
function permitsOf(source: string, meters: Meters): (use: CacheEvents['permits']) => void {
  const held = meters.gauge('held_permits', 'Permits of a source that this process holds', { source })
  const oldest = meters.time('oldest_permit', 'How long it has held the oldest of them', { source })
  const waiting = meters.gauge('waiting_loads', 'Loads of this process that wait for a permit of a source', { source })
  return (use) => {
    held(use.held)
    oldest(use.oldest)
    waiting(use.queued)
  }
}

/** Counts the invalidations of one kind. */
function invalidationsOf(by: string, meters: Meters): (event: { readonly soft?: true }) => void {
  const help = 'Invalidations and sets of keys, invalidations of tags and of prefixes'
  const count = meters.counter('invalidations', help, { by })
  const softly = meters.counter('soft_invalidations', 'Those of them that were soft', { by })
  return ({ soft = false }) => {
    count()
    if (soft) softly()
  }
}
