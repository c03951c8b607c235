import client from 'prom-client'
import { describe, expect, test } from 'vitest'
import { eventNames } from '../../src/core/events.ts'
import { createCache } from '../../src/index.ts'
import { collectMetrics } from '../../src/prometheus/index.ts'
import { doc, named, rows } from './markdown.ts'

const page = doc('docs/metrics.md').text

/** The cells of the rows of the table with this head. */
function cells(head: string): string[][] {
  return rows(page, head).map(([first = '', ...others]) => [named(first), ...others])
}

describe('the page on metrics has', () => {
  test('a row for each metric that a register has then, with its type', () => {
    const register = new client.Registry()
    collectMetrics(createCache(), { client, register })
    const there = register.getMetricsAsArray().map(({ name, type }) => `${name} ${String(type)}`)
    expect(there.length).toBeGreaterThan(10)
    const told = cells('metric').map(([name = '', type = '']) => `${name} ${type.trim()}`)
    expect(told.toSorted()).toEqual(there.toSorted())
  })

  test('the labels that each is told with', async () => {
    const register = new client.Registry()
    collectMetrics(createCache(), { client, register })
    const told = cells('metric').flatMap(([name, , labels = '']) => {
      const label = /^ *`(\w+)`/.exec(labels)?.[1]
      return label === undefined ? [] : [`${name} ${label}`]
    })
    const there = (await register.getMetricsAsJSON()).flatMap(({ name, values }) => {
      const others = Object.keys(values[0]?.labels ?? {}).filter((label) => label !== 'namespace' && label !== 'le')
      return others.map((label) => `${name} ${label}`)
    })
    expect(told.toSorted()).toEqual(there.toSorted())
  })

  test('a row for each option of collectMetrics', () => {
    let message = ''
    try {
      collectMetrics(createCache(), { client, unknown: 1 } as never)
    } catch (error) {
      message = String(error)
    }
    const options = /expected one of (.*)$/.exec(message)?.[1]?.split(', ')
    expect(cells('option').map(([name]) => name)).toEqual(options)
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
