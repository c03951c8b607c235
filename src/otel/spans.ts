import {
  context,
  isSpanContextValid,
  SpanStatusCode,
  trace,
  TraceFlags,
  type SpanContext,
  type Tracer as SpanTracer,
} from '@opentelemetry/api'
import type { CacheError } from '../core/errors.ts'
import type { Trace, TraceOutcome, Tracer } from '../core/observe/tracing.ts'

/** A span per load and per wait of a cache, and per claim that becomes neither. */
export class Spans implements Tracer {
  readonly #tracer: SpanTracer
  readonly #namespace: string
  readonly #keys: boolean

  /** @param keys whether spans have the key as an attribute */
  constructor(tracer: SpanTracer, namespace: string, keys: boolean) {
    this.#tracer = tracer
    this.#namespace = namespace
    this.#keys = keys
  }

  begin(what: 'claim' | 'load' | 'wait', key: string): Trace {
    const attributes = { 'herdless.namespace': this.#namespace, ...(this.#keys ? { 'herdless.key': key } : {}) }
    // A child of the caller's active span.
    const span = this.#tracer.startSpan(`herdless.${what}`, { attributes })
    const inside = trace.setSpan(context.active(), span)
    let isRemote = false
    let over = false
    return {
      context: traceparentOf(span.spanContext()),
      becomes(now: 'load' | 'wait') {
        span.updateName(`herdless.${now}`)
        isRemote = now === 'wait'
      },
      follows(other: string) {
        const followed = spanContextIn(other)
        if (followed !== null) span.addLink({ context: { ...followed, isRemote } })
      },
      run: (work) => context.with(inside, work),
      end(outcome: TraceOutcome, error?: CacheError) {
        if (over) return
        over = true
        span.setAttribute('herdless.outcome', outcome)
        if (error !== undefined) {
          // Only the code: the message names the key, and may quote the source.
          span.setAttribute('error.type', error.code)
          span.setStatus({ code: SpanStatusCode.ERROR, message: error.code })
        }
        span.end()
      },
    }
  }
}

/**
 * The span as a `traceparent` (W3C Trace Context, section 3.2); `''` for an unsampled one, which no backend will have.
 */
function traceparentOf(span: SpanContext): string {
  const { traceId, spanId, traceFlags } = span
  if (!isSpanContextValid(span) || (traceFlags & TraceFlags.SAMPLED) === 0) return ''
  return `00-${traceId}-${spanId}-01`
}

/** The span of a `traceparent`; `null` for another text, which a foreign client may have written. */
function spanContextIn(traceparent: string): SpanContext | null {
  const [, traceId = '', spanId = ''] = /^00-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}$/.exec(traceparent) ?? []
  const span = { traceId, spanId, traceFlags: TraceFlags.SAMPLED }
  return isSpanContextValid(span) ? span : null
}
