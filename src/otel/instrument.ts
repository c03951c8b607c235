import { metrics, trace, type MeterProvider, type TracerProvider } from '@opentelemetry/api'
import { ascending, checkOptions, boolean, shape } from '../core/options/checks.ts'
import type { Cache } from '../core/cache/cache.ts'
import { defaultBuckets, metered } from '../core/observe/metering.ts'
import { Instruments } from './meters.ts'
import { Spans } from './spans.ts'

/** What `instrument` is told. */
export interface InstrumentOptions {
  /** Whether spans have the attribute `herdless.key`: keys may be private. Metrics never have it. Default `false`. */
  readonly keys?: boolean | undefined
  /** Whether there are spans. Default `true`. */
  readonly spans?: boolean | undefined
  /** Whether there are metrics. Default `true`. */
  readonly metrics?: boolean | undefined
  /** Where spans are made. Default: the global provider. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Where metrics are made. Default: the global provider. */
  readonly meterProvider?: MeterProvider | undefined
  /** The upper bounds of the histograms, in seconds, ascending. Default: 16 from 1 ms to 60 s. */
  readonly buckets?: readonly number[] | undefined
}

/**
 * Has spans and metrics of a cache made with OpenTelemetry, from now on. A loader runs inside the span of its load; the
 * span of a wait has a link to that of the load, in whatever process it runs. Hits have no span.
 * @param cache each has its namespace as an attribute
 * @returns what stops it; what has been made stays
 * @throws TypeError for an unknown option or a value it cannot have, or if the cache has a tracer already
 */
export function instrument(cache: Pick<Cache, 'on' | 'stats' | 'trace'>, options: InstrumentOptions = {}): () => void {
  const given: InstrumentOptions = checkOptions('instrument', options, {
    keys: boolean,
    spans: boolean,
    metrics: boolean,
    tracerProvider: shape('a TracerProvider of OpenTelemetry', ['getTracer']),
    meterProvider: shape('a MeterProvider of OpenTelemetry', ['getMeter']),
    buckets: ascending,
  })
  const { keys = false, spans = true, metrics: measured = true, buckets = defaultBuckets } = given
  const { tracerProvider = trace.getTracerProvider(), meterProvider = metrics.getMeterProvider() } = given
  const { namespace } = cache.stats()
  const stops: (() => void)[] = []
  if (spans) stops.push(cache.trace(new Spans(tracerProvider.getTracer('herdless'), namespace, keys)))
  if (measured) stops.push(metered(cache, new Instruments(meterProvider.getMeter('herdless'), namespace, buckets)))
  return () => {
    for (const stop of stops.splice(0)) stop()
  }
}
