import { createNoopMeter, type Meter } from '@opentelemetry/api'
import client from 'prom-client'
import { describe, expect, test } from 'vitest'
import { eventNames } from '../../src/core/observe/events.ts'
import { createCache } from '../../src/index.ts'
import { instrument } from '../../src/otel/index.ts'
import { collectMetrics } from '../../src/prometheus/index.ts'
import { doc, named, rows } from './markdown.ts'

const page = doc('docs/metrics.md').text

/** The cells of the rows of the table with this head. */
function cells(head: string): string[][] {
  return rows(page, head).map(([first = '', ...others]) => [named(first), ...others])
}

describe('the page on metrics has', () => {
  test('a row for each metric that a register has then, with its type and its labels', async () => {
    const register = new client.Registry()
    const cache = createCache({ sources: { pg: { concurrency: 1 } } })
    collectMetrics(cache, { client, register })
    // Those of a source are there once it has been used.
    await cache.getOrLoad('k', () => 'v', { source: 'pg' })
    const there = (await register.getMetricsAsJSON()).map(({ name, type, values }) => {
      const labels = Object.keys(values[0]?.labels ?? {}).filter((label) => label !== 'namespace' && label !== 'le')
      return [name, String(type), ...labels].join(' ')
    })
    expect(there.length).toBeGreaterThan(10)
    const told = cells('metric').map(([name, type = '', labels = '']) => {
      return [name, type.trim(), ...(/^ *`(\w+)`/.exec(labels)?.slice(1) ?? [])].join(' ')
    })
    expect(told.toSorted()).toEqual(there.toSorted())
  })

  test('a row for each member of stats', () => {
    expect(cells('member').map(([name]) => name)).toEqual(Object.keys(createCache().stats()))
  })

  test('no event that there is not', () => {
    const told = rows(page, 'event').flatMap(([name = '']) => [...name.matchAll(/`(\w+)`/g)].map((match) => match[1]))
    expect(told.length).toBeGreaterThan(3)
    expect(told.filter((name) => !eventNames.includes(name as never))).toEqual([])
  })
})

describe('the page on traces has', () => {
  const tracing = doc('docs/tracing.md').text

  test('a rule by which the metrics of Prometheus are called there, units and labels too', async () => {
    expect(tracing).toContain('`herdless_hits_total` is `herdless.hits`')
    expect(tracing).toContain('`herdless_load_seconds` is `herdless.load.duration`, in seconds')
    const register = new client.Registry()
    collectMetrics(createCache(), { client, register })
    const ruled = register.getMetricsAsArray().map(({ name }) =>
      name
        .replace(/^herdless_/, 'herdless.')
        .replace(/_total$/, '')
        .replace(/_seconds$/, '.duration'),
    )
    const made: string[] = []
    const meter = new Proxy(createNoopMeter(), {
      get: (target, method: keyof Meter) => (name: string) => {
        made.push(name)
        return (target[method] as (name: string) => unknown).call(target, name)
      },
    })
    instrument(createCache(), { meterProvider: { getMeter: () => meter }, spans: false })
    expect(made.toSorted()).toEqual(ruled.toSorted())
  })
})
