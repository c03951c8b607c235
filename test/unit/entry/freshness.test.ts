import { expect, test } from 'vitest'
import { freshnessOf, isRefreshDue, applyJitter, ttlOf } from '../../../src/core/entry/freshness.ts'
import type { Entry } from '../../../src/core/contract/store.ts'

function entry(freshFor: number, staleFor: number): Entry {
  return {
    payload: Buffer.alloc(0),
    token: '',
    version: 1,
    age: 0,
    freshFor,
    staleFor,
    loadTime: 0,
    tags: [],
    validators: null,
  }
}

test.for([
  ['within its ttl', 1, 1, 0, 'fresh'],
  ['within its ttl, whatever grace the reader has', 1, 101, 100, 'fresh'],
  ['at the end of its ttl', 0, 100, 100, 'stale'],
  ['in its grace', -50, 50, 100, 'stale'],
  ['at the last moment of the grace', -99, 1, 100, 'stale'],
  ['at the end of the grace', -100, 0, 100, 'expired'],
  ['in a grace that the reader does not want', -50, 50, 0, 'expired'],
  ['in a grace of which the reader wants less', -50, 50, 50, 'expired'],
  ['beyond the grace it was written with, though the reader would take more', -101, -1, 1_000, 'expired'],
  ['without grace, at the end of its ttl', 0, 0, 0, 'expired'],
] as const)('a value %s', ([, freshFor, staleFor, grace, expected]) => {
  expect(freshnessOf(entry(freshFor, staleFor), grace)).toBe(expected)
})

const drawn = Math.exp(-1)

test.for([
  ['before that part of its ttl', { age: 79, freshFor: 21 }, 0.8, 1, false],
  ['at that part of its ttl', { age: 80, freshFor: 20 }, 0.8, 1, true],
  ['by XFetch, when the draw reaches the end of its ttl', { loadTime: 100, freshFor: 100 }, 'xfetch', drawn, true],
  ['by XFetch, when the draw does not', { loadTime: 100, freshFor: 101 }, 'xfetch', drawn, false],
  ['by XFetch, never when the draw is the highest', { loadTime: 1e9, freshFor: 1 }, 'xfetch', 1, false],
  ['by XFetch, never when it was set', { loadTime: 0, freshFor: 1 }, 'xfetch', Number.MIN_VALUE, false],
] as const)('a fresh value is due %s', ([, seen, ahead, random, due]) => {
  expect(isRefreshDue({ ...entry(0, 0), ...seen }, ahead, random)).toBe(due)
})

test('nothing is fresh for as long as is said of it, and anything else for its ttl', () => {
  const plan = { ttl: 9, negativeTtl: { null: 3, undefined: 2 } }
  expect([null, undefined, 0, '', false, Number.NaN].map((value) => ttlOf(value, plan))).toEqual([3, 2, 9, 9, 9, 9])
  expect([null, undefined].map((value) => ttlOf(value, { ttl: 9, negativeTtl: {} }))).toEqual([9, 9])
})

test('jitter takes nothing, or up to its part, and never all of a ttl', () => {
  expect([
    applyJitter(100, 0, 0.9),
    applyJitter(100, 0.2, 0),
    applyJitter(100, 0.2, 0.5),
    applyJitter(100, 1, 0.999),
  ]).toEqual([100, 100, 90, 1])
})
