import { expect, test } from 'vitest'
import { freshness } from '../../src/core/freshness.ts'
import type { Entry } from '../../src/core/store.ts'

function entry(freshFor: number, staleFor: number): Entry {
  return { payload: Buffer.alloc(0), token: '', version: 1, age: 0, freshFor, staleFor, loadTime: 0 }
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
  expect(freshness(entry(freshFor, staleFor), grace)).toBe(expected)
})
