/**
 * A request waits for a query that another process makes, and its trace points to it. It prints
 *
 *   query, in herdless.load
 *   herdless.load, in request 1
 *   herdless.wait, in request 2, waits for herdless.load
 */
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createCache } from 'herdless'
import { instrument } from 'herdless/otel'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const exporter = new InMemorySpanExporter()
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const inside = (/** @type {string} */ name, /** @type {() => Promise<unknown>} */ work) =>
  trace.getTracer('shop').startActiveSpan(name, (span) => work().finally(() => span.end()))
// As if in two processes: they have nothing in common but Redis.
const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'
const [one, other] = [new Redis(url), new Redis(url)]
const loads = createCache({ store: redisStore(one), namespace: 'example-22', ttl: '1ms' })
const waits = createCache({ store: redisStore(other), namespace: 'example-22', ttl: '1ms' })
for (const cache of [loads, waits]) instrument(cache)
const waiting = new Promise((resolve) => waits.on('wait', resolve))
const query = () => inside('query', () => waiting)
const second = new Promise((resolve) => loads.on('load', resolve)).then(() =>
  inside('request 2', () => waits.getOrLoad('page', query)),
)
await Promise.all([inside('request 1', () => loads.getOrLoad('page', query)), second])
await Promise.all([loads.close(), waits.close()])
for (const client of [one, other]) client.disconnect()
const spans = new Map(exporter.getFinishedSpans().map((span) => [span.spanContext().spanId, span]))
for (const name of ['query', 'herdless.load', 'herdless.wait']) {
  const span = [...spans.values()].find((each) => each.name === name)
  const linked = span?.links.map(({ context: { spanId } }) => `, waits for ${spans.get(spanId)?.name}`)
  console.log(`${name}, in ${spans.get(span?.parentSpanContext?.spanId ?? '')?.name}${linked}`)
}
