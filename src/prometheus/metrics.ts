import type { Cache } from '../core/cache/cache.ts'
import { ascending, checkOptions } from '../core/options/checks.ts'
import { formatValue } from '../core/time/duration.ts'
import { defaultBuckets, metered } from '../core/observe/metering.ts'
import { Metrics, type MetricsClient, type MetricsRegister } from './client.ts'

/** The options of `collectMetrics`. */
export interface MetricsOptions {
  /** The module prom-client: `import client from 'prom-client'`. */
  readonly client: MetricsClient
  /** The register of the metrics. Default: `client.register`. */
  readonly register?: MetricsRegister | undefined
  /** The prefix of all names. Default `'herdless_'`. */
  readonly prefix?: string | undefined
  /** The upper bounds of the histograms, in seconds, ascending. Default: 16 from 1 ms to 60 s. */
  readonly buckets?: readonly number[] | undefined
}

/**
 * Collects the metrics of a cache with prom-client from now on; each has the label `namespace`, and none has a key.
 * @param cache several caches may share a register
 * @returns a function that stops it; collected values stay
 * @throws TypeError for an unknown option or a wrong value
 */
export function collectMetrics(cache: Pick<Cache, 'on' | 'stats'>, options: MetricsOptions): () => void {
  const { namespace } = cache.stats()
  return metered(cache, new Metrics({ ...planOf(options), labels: { namespace } }))
}

interface Plan {
  readonly client: MetricsClient
  readonly register: MetricsRegister
  readonly prefix: string
  readonly buckets: readonly number[]
}

function planOf(options: MetricsOptions): Plan {
  const given: Partial<Plan> = checkOptions('collectMetrics', options, {
    client: checkedClient,
    register: checkedRegister,
    prefix: checkedPrefix,
    buckets: ascending,
  })
  const client = given.client ?? checkedClient('client', undefined)
  return { register: client.register, prefix: 'herdless_', buckets: defaultBuckets, ...given, client }
}

function checkedClient(name: string, value: unknown): MetricsClient {
  const { Counter, Gauge, Histogram, register } = (value ?? {}) as Partial<Record<keyof MetricsClient, unknown>>
  const isClient = [Counter, Gauge, Histogram].every((made) => typeof made === 'function')
  if (isClient && isRegister(register)) return value as MetricsClient
  throw new TypeError(`Expected \`${name}\` to be the module prom-client, got ${formatValue(value)}`)
}

function checkedRegister(name: string, value: unknown): unknown {
  if (isRegister(value)) return value
  throw new TypeError(`Expected \`${name}\` to be a Registry of prom-client, got ${formatValue(value)}`)
}

function isRegister(value: unknown): boolean {
  const { getSingleMetric, registerMetric } = (value ?? {}) as Partial<Record<keyof MetricsRegister, unknown>>
  return typeof getSingleMetric === 'function' && typeof registerMetric === 'function'
}

function checkedPrefix(name: string, value: unknown): unknown {
  if (typeof value === 'string' && /^([a-zA-Z_:][a-zA-Z0-9_:]*)?$/.test(value)) return value
  throw new TypeError(
    `Expected \`${name}\` to be letters, digits, _ and :, and no digit first, got ${formatValue(value)}`,
  )
}
