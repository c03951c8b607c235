import { context, propagation, trace, SpanStatusCode, type Attributes } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type DataPoint,
  type Histogram,
} from '@opentelemetry/sdk-metrics'
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createCache, type Cache, type CacheOptions } from '../../../src/index.ts'
import { instrument, type InstrumentOptions } from '../../../src/otel/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { answerOf, asked } from '../support/answer.ts'
import { fleet, type Fleet } from '../support/fleet.ts'
import { loading } from '../support/source.ts'

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
afterAll(() => context.disable())
afterEach(() => {
  trace.disable()
  propagation.disable()
})

/** The spans of one process, as it were. */
class Process {
  readonly #exporter = new InMemorySpanExporter()
  readonly provider: BasicTracerProvider

  /** How many have not ended. */
  open = 0

  constructor(options: ConstructorParameters<typeof BasicTracerProvider>[0] = {}) {
    const counter: SpanProcessor = {
      onStart: () => void this.open++,
      onEnd: () => void this.open--,
      forceFlush: async () => undefined,
      shutdown: async () => undefined,
    }
    const spanProcessors = [new SimpleSpanProcessor(this.#exporter), counter]
    this.provider = new BasicTracerProvider({ ...options, spanProcessors })
  }

  instrument(cache: Cache, options: InstrumentOptions = {}): () => void {
    return instrument(cache, { tracerProvider: this.provider, metrics: false, ...options })
  }

  /** Those that have ended, in that order. */
  get spans(): ReadableSpan[] {
    return this.#exporter.getFinishedSpans()
  }

  named(name: string): ReadableSpan {
    const [span] = this.spans.filter((each) => each.name === name)
    if (span === undefined) throw new Error(`Expected a span ${name}, there are ${this.spans.map((each) => each.name)}`)
    return span
  }

  /** Does something inside a span of the user's. */
  inside<T>(name: string, work: () => T): T {
    return this.provider.getTracer('user').startActiveSpan(name, (span) => {
      try {
        return work()
      } finally {
        span.end()
      }
    })
  }
}

function traced(options: CacheOptions = {}): Fleet & { here: Process; there: Process } {
  const all = fleet({ namespace: 'shop', ...options })
  const [here, there] = [new Process(), new Process()]
  here.instrument(all.a)
  there.instrument(all.b)
  return { ...all, here, there }
}

function idOf(span: ReadableSpan): string {
  return span.spanContext().spanId
}

describe('spans', () => {
  test('of a load are children of what asked, and parents of what the loader does', async () => {
    const { a, here } = traced()
    await here.inside('request', () =>
      a.getOrLoad('k', async () => {
        await settled()
        return here.inside('query', () => 'v')
      }),
    )
    await a.getOrLoad('k', () => 'a hit has no span')
    await settled()
    expect(here.spans).toHaveLength(3)
    const [request, load, query] = ['request', 'herdless.load', 'query'].map((name) => here.named(name))
    expect([load?.parentSpanContext?.spanId, query?.parentSpanContext?.spanId]).toEqual([
      idOf(request as ReadableSpan),
      idOf(load as ReadableSpan),
    ])
    expect(load?.attributes).toEqual({ 'herdless.namespace': 'shop', 'herdless.outcome': 'value' })
    expect(load?.status.code).toBe(SpanStatusCode.UNSET)
  })

  test('of a wait have a link to the load in the other process, and are part of the trace of who waits', async () => {
    const { a, b, here, there, source } = traced()
    await asked(here.inside('there it loads', () => a.getOrLoad('k', source.loader)))
    await asked(there.inside('here it waits', () => b.getOrLoad('k', source.loader)))
    await source.resolve(0, 'v')
    const [load, wait] = [here.named('herdless.load'), there.named('herdless.wait')]
    const { traceId, spanId, traceFlags } = load.spanContext()
    expect(wait.links.map((link) => link.context)).toEqual([{ traceId, spanId, traceFlags, isRemote: true }])
    expect(wait.spanContext().traceId).toBe(there.named('here it waits').spanContext().traceId)
    expect(wait.spanContext().traceId).not.toBe(load.spanContext().traceId)
    expect(wait.attributes).toMatchObject({ 'herdless.outcome': 'value' })
    expect(load.links).toEqual([])
  })

  test('of callers who join a load of their own process have a link to it, too', async () => {
    const { a, here, source } = traced()
    await asked(here.inside('one', () => a.getOrLoad('k', source.loader)))
    await asked(here.inside('other', () => a.getOrLoad('k', source.loader)))
    await source.resolve(0, 'v')
    const [load, wait] = [here.named('herdless.load'), here.named('herdless.wait')]
    expect(wait.links.map((link) => [link.context.spanId, link.context.isRemote])).toEqual([[idOf(load), false]])
    expect(wait.parentSpanContext?.spanId).toBe(idOf(here.named('other')))
  })

  test('of a wait that becomes a load are two, and the load has a link to the wait', async () => {
    const { a, b, there, ways, clock } = traced({ leaseTtl: '3s' })
    const { source } = await loading(a)
    await asked(there.inside('request', () => b.getOrLoad('k', source.loader)))
    ways.a.mode = 'silent'
    await clock.advance(3_500)
    source.runs.at(-1)?.resolve('v')
    await settled()
    const [wait, load] = [there.named('herdless.wait'), there.named('herdless.load')]
    expect(wait.attributes['herdless.outcome']).toBe('lease')
    expect(load.links.map(({ context: { spanId, isRemote } }) => [spanId, isRemote])).toEqual([[idOf(wait), false]])
    expect(load.spanContext().traceId).toBe(wait.spanContext().traceId)
  })

  test('have errors by their code, and no message', async () => {
    const { a, b, here, there } = traced({ failureCooldown: '10s' })
    await asked(a.getOrLoad('secret', () => Promise.reject(new Error('secret'))))
    await asked(b.getOrLoad('secret', () => 'v'))
    const [load, claim] = [here.named('herdless.load'), there.named('herdless.claim')]
    for (const span of [load, claim]) {
      expect(span.attributes).toEqual({
        'herdless.namespace': 'shop',
        'herdless.outcome': 'failed',
        'error.type': 'LOAD_FAILED',
      })
      expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'LOAD_FAILED' })
      expect(span.events).toEqual([])
    }
    const told = [...here.spans, ...there.spans].map(({ name, attributes, status }) => [name, attributes, status])
    expect(JSON.stringify(told)).not.toContain('secret')
  })

  test('tell the key if that is asked for', async () => {
    const { c } = traced()
    const process = new Process()
    process.instrument(c, { keys: true })
    await c.getOrLoad('user:1', () => 'v')
    await settled()
    expect(process.named('herdless.load').attributes['herdless.key']).toBe('user:1')
  })

  test('that are not sampled are not linked to, and neither is what is no context', async () => {
    const { a, b, c } = fleet()
    const there = new Process()
    const unsampled = new Process({ sampler: new AlwaysOffSampler() })
    unsampled.instrument(a)
    there.instrument(b)
    const { source } = await loading(a)
    expect((await c.explain('k')).load?.context).toBeNull()
    await asked(b.getOrLoad('k', source.loader))
    await source.resolve(0, 'v')
    expect(there.named('herdless.wait').links).toEqual([])
  })

  test.for(['', 'x', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`, `ff-${'1'.repeat(32)}-${'1'.repeat(16)}-01`])(
    'are not linked to what a stranger has written: %j',
    async (written) => {
      const { b, ways, there } = traced()
      const claim = await ways.a.claim({ key: 'shop:k', token: 'x'.repeat(16), leaseTtl: 1_000, context: written })
      expect(claim.state).toBe('lease')
      const answer = await asked(b.getOrLoad('k', () => 'v'))
      if (claim.state === 'lease') await ways.a.release(claim.lease)
      await settled()
      expect(answer).toMatchObject({ state: 'value' })
      expect(there.named('herdless.wait').links).toEqual([])
    },
  )

  test('all end, whatever happens', async () => {
    const { a, b, here, there, ways, clock } = traced()
    const { source } = await loading(a)
    const controller = new AbortController()
    answerOf(b.getOrLoad('k', source.loader))
    await asked(b.getOrLoad('k', source.loader, { signal: controller.signal }))
    controller.abort()
    await asked(b.getOrLoad('l', ({ doNotStore }) => doNotStore()))
    ways.a.mode = 'silent'
    answerOf(a.getOrLoad('m', source.loader))
    await clock.advance(40_000)
    ways.a.thaw()
    for (const cache of [a, b]) answerOf(cache.close({ timeout: 1 }))
    await clock.advance(40_000)
    expect([here.open, there.open]).toEqual([0, 0])
    expect(here.spans.length).toBeGreaterThanOrEqual(3)
  })

  test('are made no longer than until it is stopped, and by one at a time', async () => {
    const { c } = traced()
    const process = new Process()
    const stop = process.instrument(c)
    expect(() => process.instrument(c)).toThrow(TypeError)
    await c.getOrLoad('k', () => 'v')
    stop()
    stop()
    await c.getOrLoad('l', () => 'v')
    await settled()
    expect(process.spans).toHaveLength(1)
    process.instrument(c)()
  })

  test('go to the global provider, as long as there is none nowhere', async () => {
    const cache = createCache()
    instrument(cache, { metrics: false })
    await cache.getOrLoad('k', () => 'v')
    const process = new Process()
    trace.setGlobalTracerProvider(process.provider)
    await cache.getOrLoad('l', () => 'v')
    await settled()
    expect(process.spans.map(({ name }) => name)).toEqual(['herdless.load'])
  })
})

/** What a meter provider exports, by name and attributes. */
class Measured {
  readonly #exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  readonly provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter: this.#exporter, exportIntervalMillis: 3_600_000 })],
  })

  async points(): Promise<{ name: string; unit: string; attributes: Attributes; value: unknown }[]> {
    this.#exporter.reset()
    await this.provider.forceFlush()
    const scopes = this.#exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
    return scopes.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor: { name, unit }, dataPoints }) =>
        (dataPoints as DataPoint<number | Histogram>[]).map(({ attributes, value }) => ({
          name,
          unit,
          attributes,
          value,
        })),
      ),
    )
  }

  /** Those that are not zero. */
  async told(): Promise<Record<string, unknown>> {
    const points = (await this.points()).filter(({ value }) => value !== 0)
    return Object.fromEntries(
      points.map(({ name, attributes, value }) => {
        const others = Object.entries(attributes).filter(([attribute]) => attribute !== 'herdless.namespace')
        const histogram = value as Histogram
        const shown = typeof value === 'number' ? value : { sum: histogram.sum, count: histogram.count }
        return [[name, ...others.map((pair) => pair.join('='))].join(' '), shown]
      }),
    )
  }
}

describe('metrics', () => {
  test('are those of Prometheus, in seconds and bytes, with the namespace and never a key', async () => {
    const { a, b, clock, source } = fleet({ namespace: 'shop' })
    const measured = new Measured()
    instrument(a, { meterProvider: measured.provider, spans: false, keys: true, buckets: [0.1, 1] })
    answerOf(a.getOrLoad('secret', source.loader))
    await clock.advance(250)
    await source.resolve(0, 'v')
    for (let hit = 0; hit < 3; hit++) await a.getOrLoad('secret', source.loader)
    answerOf(a.getOrLoad('bad', () => Promise.reject(new Error('secret'))))
    await a.invalidateTags(['secret'])
    await asked(b.getOrLoad('k', source.loader))
    answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(2_000)
    await source.resolve(1, 'w')
    expect(await measured.told()).toEqual({
      'herdless.hits': 3,
      'herdless.misses': 3,
      'herdless.waits': 1,
      'herdless.loads herdless.leased=true': 2,
      'herdless.fills': 1,
      'herdless.fill_bytes': 3,
      'herdless.load.duration': { sum: 0.25, count: 1 },
      'herdless.failures error.type=LOAD_FAILED': 1,
      'herdless.wait.duration': { sum: 2, count: 1 },
      'herdless.answer.duration': { sum: 2.25, count: 3 },
      'herdless.invalidations herdless.by=tags': 1,
    })
    const points = await measured.points()
    expect(JSON.stringify(points)).not.toContain('secret')
    expect(new Set(points.map(({ attributes }) => attributes['herdless.namespace']))).toEqual(new Set(['shop']))
    const of = (name: string) => points.find((point) => point.name === name)
    expect([of('herdless.fill_bytes')?.unit, of('herdless.load.duration')?.unit]).toEqual(['By', 's'])
    expect(of('herdless.load.duration')?.value).toMatchObject({ buckets: { boundaries: [0.1, 1] } })
    expect([of('herdless.degraded')?.value, of('herdless.overloads')?.value]).toEqual([0, 0])
    await measured.provider.shutdown()
  })

  test('of a provider that makes no gauges are a TypeError, and nothing is instrumented', async () => {
    const { a, here } = { ...fleet(), here: new Process() }
    const listeners = vi.spyOn(a, 'on')
    const meter = { createCounter: () => ({ add: () => {} }), createHistogram: () => ({ record: () => {} }) }
    const meterProvider = { getMeter: () => meter } as unknown as MeterProvider
    expect(() => here.instrument(a, { metrics: true, meterProvider })).toThrow(TypeError)
    expect(listeners).not.toHaveBeenCalled()
    here.instrument(a)()
  })

  test('are counted no longer than until it is stopped', async () => {
    const { a } = fleet()
    const measured = new Measured()
    const stop = instrument(a, { meterProvider: measured.provider })
    await a.set('k', 'v')
    stop()
    await a.getOrLoad('k', () => 'w')
    expect(await measured.told()).toEqual({ 'herdless.invalidations herdless.by=key': 1 })
    await measured.provider.shutdown()
  })
})

test.for([
  ['an option that there is not', { key: true }, 'Unknown option `key` of instrument'],
  ['keys that are neither on nor off', { keys: 'yes' }, 'Expected `keys` to be true or false'],
  ['a provider that is none', { tracerProvider: {} }, 'Expected `tracerProvider` to be a TracerProvider'],
  ['another that is none', { meterProvider: {} }, 'Expected `meterProvider` to be a MeterProvider'],
  ['buckets out of order', { buckets: [1, 0.5] }, 'Expected `buckets` to be seconds in ascending order'],
] as [string, object, string][])('%s is a TypeError, and nothing is instrumented', async ([, options, message]) => {
  const { a } = fleet()
  expect(() => instrument(a, options)).toThrow(message)
  instrument(a)()
})
