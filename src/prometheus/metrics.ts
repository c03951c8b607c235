import type { Cache } from '../core/cache.ts'
import { checked } from '../core/checks.ts'
import { shown } from '../core/duration.ts'
import type { CacheErrorCode } from '../core/errors.ts'
import type { CacheEvents } from '../core/events.ts'
import { Metrics, type MetricsClient, type MetricsRegister } from './client.ts'

/** What `collectMetrics` is told. */
export interface MetricsOptions {
  /** The module prom-client: `import client from 'prom-client'`. */
  readonly client: MetricsClient
  /** Where the metrics are registered. Default: `client.register`. */
  readonly register?: MetricsRegister | undefined
  /** What the names of all metrics begin with. Default `'herdless_'`. */
  readonly prefix?: string | undefined
  /** The upper bounds of the histograms, in seconds, ascending. Default: 16 from 1 ms to 60 s. */
  readonly buckets?: readonly number[] | undefined
}

const defaultBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60]

/** The events that are merely counted. */
const counted: readonly (readonly [event: keyof CacheEvents, name: string, help: string])[] = [
  ['hit', 'hits_total', 'Fresh values that were served'],
  ['stale', 'stale_hits_total', 'Stale values that were served'],
  ['miss', 'misses_total', 'Callers that found no value to serve at once'],
  ['wait', 'waits_total', 'Loads of other processes that were waited for'],
  ['refreshAhead', 'refreshes_ahead_total', 'Values whose refresh was asked for before their time'],
  ['refused', 'refused_fills_total', 'Loads that ended after their lease was gone, so that nothing was written'],
  ['lost', 'lost_leases_total', 'Leases that were lost while their load was running'],
  ['garbage', 'garbage_total', 'Values in the store that could not be decoded'],
  ['storeFailure', 'store_failures_total', 'Commands to the store that failed or were not answered in time'],
  ['overloaded', 'overloads_total', 'Loads that were refused while the store was away, because too many queued'],
]

/**
 * Has the metrics of a cache collected by prom-client, from now on; each has the label `namespace`, and none has a key.
 * @param cache several may share a register
 * @returns what stops it; what has been counted stays
 * @throws TypeError for an unknown option or a value it cannot have
 */
export function collectMetrics(cache: Pick<Cache, 'on' | 'stats'>, options: MetricsOptions): () => void {
  const { buckets, ...plan } = planOf(options)
  const { namespace } = cache.stats()
  const metrics = new Metrics({ ...plan, labels: { namespace } })
  const offs: (() => void)[] = []
  const on = <Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): void => {
    offs.push(cache.on(name, listener))
  }

  for (const [event, name, help] of counted) {
    const count = metrics.counter(name, help)
    on(event, () => count())
  }

  const nearHits = metrics.counter('near_hits_total', 'Those of them that were copies in this process')
  on('hit', ({ near }) => near && nearHits())

  const loads = (leased: boolean): (() => void) =>
    metrics.counter('loads_total', 'Loaders that were started', { leased: String(leased) })
  const [withLease, without] = [loads(true), loads(false)]
  on('load', ({ leased }) => (leased ? withLease() : without()))

  const fills = metrics.counter('fills_total', 'Loaded values that the store accepted')
  const bytes = metrics.counter('fill_bytes_total', 'The bytes of the loaded values that the store accepted')
  const loadTime = metrics.duration('load_seconds', 'How long the loads took whose values were accepted', buckets)
  on('fill', (fill) => {
    fills()
    bytes(fill.bytes)
    loadTime(fill.loadTime)
  })

  const failures = new Map<CacheErrorCode, () => void>()
  const failuresOf = (code: CacheErrorCode): (() => void) => {
    const count = failures.get(code) ?? metrics.counter('failures_total', 'Loads that failed, by code', { code })
    failures.set(code, count)
    return count
  }
  failuresOf('LOAD_FAILED')
  failuresOf('LOAD_TIMEOUT')
  on('failure', ({ error }) => failuresOf(error.code)())

  const waitTime = metrics.duration('wait_seconds', 'How long loads of other processes were waited for', buckets)
  on('waited', ({ duration }) => waitTime(duration))
  const answerTime = metrics.duration(
    'answer_seconds',
    'How long callers that had missed waited for an answer',
    buckets,
  )
  on('answer', ({ duration }) => answerTime(duration))

  const invalidations = (by: 'key' | 'tags' | 'prefix'): (() => void) =>
    metrics.counter('invalidations_total', 'Invalidations and sets of keys, invalidations of tags and of prefixes', {
      by,
    })
  const [ofKey, ofTags, ofPrefix] = [invalidations('key'), invalidations('tags'), invalidations('prefix')]
  on('invalidate', () => ofKey())
  on('invalidateTags', () => ofTags())
  on('invalidatePrefix', () => ofPrefix())

  const degraded = metrics.gauge('degraded', 'Whether the store does not answer')
  degraded(0)
  on('degraded', () => degraded(1))
  on('recovered', () => degraded(0))
  // Nothing is known of it before the store says so, and a store that does not push never does.
  const push = metrics.gauge('push_up', 'Whether outcomes are pushed to this process')
  on('push', ({ up }) => push(up ? 1 : 0))
  const kept = metrics.gauge('kept_invalidations', 'Invalidations that the store has yet to be told of')
  kept(0)
  on('kept', ({ invalidations: count }) => kept(count))
  on('replayed', () => kept(0))

  return () => {
    for (const off of offs.splice(0)) off()
  }
}

interface Plan {
  readonly client: MetricsClient
  readonly register: MetricsRegister
  readonly prefix: string
  readonly buckets: readonly number[]
}

function planOf(options: MetricsOptions): Plan {
  const given: Partial<Plan> = checked('collectMetrics', options, {
    client: checkedClient,
    register: checkedRegister,
    prefix: checkedPrefix,
    buckets: checkedBuckets,
  })
  const client = given.client ?? checkedClient('client', undefined)
  return { register: client.register, prefix: 'herdless_', buckets: defaultBuckets, ...given, client }
}

function checkedClient(name: string, value: unknown): MetricsClient {
  const { Counter, Gauge, Histogram, register } = (value ?? {}) as Partial<Record<keyof MetricsClient, unknown>>
  const isClient = [Counter, Gauge, Histogram].every((made) => typeof made === 'function')
  if (isClient && isRegister(register)) return value as MetricsClient
  throw new TypeError(`Expected \`${name}\` to be the module prom-client, got ${shown(value)}`)
}

function checkedRegister(name: string, value: unknown): unknown {
  if (isRegister(value)) return value
  throw new TypeError(`Expected \`${name}\` to be a Registry of prom-client, got ${shown(value)}`)
}

function isRegister(value: unknown): boolean {
  const { getSingleMetric, registerMetric } = (value ?? {}) as Partial<Record<keyof MetricsRegister, unknown>>
  return typeof getSingleMetric === 'function' && typeof registerMetric === 'function'
}

function checkedPrefix(name: string, value: unknown): unknown {
  if (typeof value === 'string' && /^([a-zA-Z_:][a-zA-Z0-9_:]*)?$/.test(value)) return value
  throw new TypeError(`Expected \`${name}\` to be letters, digits, _ and :, and no digit first, got ${shown(value)}`)
}

function checkedBuckets(name: string, value: unknown): unknown {
  const ascends = (bound: unknown, index: number, all: unknown[]): boolean =>
    typeof bound === 'number' && Number.isFinite(bound) && bound > Number(all[index - 1] ?? 0)
  if (Array.isArray(value) && value.length > 0 && value.every(ascends)) return value
  throw new TypeError(`Expected \`${name}\` to be seconds in ascending order, got ${shown(value)}`)
}
