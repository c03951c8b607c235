/**
 * A process whose cache is instrumented with OpenTelemetry, and that tells a test of its spans.
 */
import { pathToFileURL } from 'node:url'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createCache, obey, openClient, redisStore, tell } from './fleet-base.mjs'

/** @type {typeof import('../../src/otel/index.ts')} */
const { instrument } = await import(pathToFileURL(`${process.argv[4]}/otel/index.js`).href)

const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
trace.setGlobalTracerProvider(provider)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const tracer = trace.getTracer('user')

/** @type {import('../../src/core/cache/cache.ts').Cache} */
let cache
/** @type {(value: string) => void} */
let finish = () => {}

obey({
  /** @param {{ redis: import('./fleet.ts').RedisSpec }} details */
  async open({ redis }) {
    const { client, subscribed } = await openClient(redis)
    cache = createCache({ store: redisStore(client), namespace: 'shop' })
    instrument(cache, { metrics: false })
    cache.on('load', () => tell({ said: 'load' }))
    cache.on('wait', () => tell({ said: 'wait' }))
    await subscribed
  },

  /** One request, whose loader makes a query that goes on until it is told to end. */
  get({ key }) {
    return tracer.startActiveSpan('request', async (request) => {
      const value = await cache.getOrLoad(key, () =>
        tracer.startActiveSpan('query', async (query) => {
          const result = await new Promise((resolve) => (finish = resolve))
          query.end()
          return result
        }),
      )
      request.end()
      return value
    })
  },

  finish() {
    finish('v')
  },

  /** The spans that have ended. */
  spans: () =>
    exporter.getFinishedSpans().map((span) => ({
      name: span.name,
      id: span.spanContext().spanId,
      trace: span.spanContext().traceId,
      parent: span.parentSpanContext?.spanId ?? null,
      links: span.links.map((link) => ({ trace: link.context.traceId, span: link.context.spanId })),
    })),
})
