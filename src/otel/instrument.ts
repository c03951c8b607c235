import { metrics, trace, type MeterProvider, type TracerProvider } from '@opentelemetry/api'
import { ascending, checkOptions, boolean, shape } from '../core/options/checks.ts'
import type { Cache } from '../core/cache/cache.ts'
import { defaultBuckets, metered } from '../core/observe/metering.ts'
import { Instruments } from './meters.ts'
import { Spans } from './spans.ts'

/** The options of `instrument`. */
export interface InstrumentOptions {
  /** Whether spans have the attribute `herdless.key`; keys may be private. Metrics never have it. Default `false`. */
  readonly keys?: boolean | undefined
  /** Whether to make spans. Default `true`. */
  readonly spans?: boolean | undefined
  /** Whether to make metrics. Default `true`. */
  readonly metrics?: boolean | undefined
  /** The provider for spans. Default: the global provider. */
  readonly tracerProvider?: TracerProvider | undefined
  /** The provider for metrics. Default: the global provider. */
  readonly meterProvider?: MeterProvider | undefined
  /** The upper bounds of the histograms, in seconds, ascending. Default: 16 from 1 ms to 60 s. */
  readonly buckets?: readonly number[] | undefined
}

/**
 * Makes OpenTelemetry spans and metrics of a cache from now on. A loader runs inside the span of its load; the span of
 * a wait has a link to the span of the load, in any process. Hits have no spans.
 * @param cache its namespace becomes an attribute
 * @returns a function that stops it; existing spans and metrics stay
 * @throws TypeError for an unknown option or a wrong value, or if the cache has a tracer already
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
  const stop = (): void => {
    for (const each of stops.splice(0)) each()
  }
  try {
    if (spans) stops.push(cache.trace(new Spans(tracerProvider.getTracer('herdless'), namespace, keys)))
    if (measured) stops.push(metered(cache, new Instruments(meterProvider.getMeter('herdless'), namespace, buckets)))
  } catch (error) {
    stop()
    throw error
  }
  return stop
}
