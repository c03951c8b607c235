import { beforeAll, describe, expect, test } from 'vitest'
import { framed } from '../support/frames.ts'
import { differences, totalsInWords, totalsOf, worsened } from './compare.ts'
import { expected } from './expected.ts'
import { conformanceOf, type Results } from './run.ts'
import { nothing, subject, subjectOf } from './subject.ts'
import { withoutCache } from './without-cache.ts'

/** How many tests of http-cache-tests pass at least. */
const leastRequired = 142
const leastOptimal = 76

let without: Results
let results: Results

beforeAll(async () => {
  if (framed === null) {
    // Side by side: each pauses for 3 s, and does little else.
    ;[without, results] = await Promise.all([conformanceOf(nothing), conformanceOf(subject())])
  } else {
    results = await conformanceOf(nothing, { server: subjectOf(framed) })
  }
  console.log(totalsInWords(results))
})

// It is the same in whatever frame.
describe.runIf(framed === null)('without a cache', () => {
  test('what passes and what does not is what the list says', () => {
    expect(differences(without, withoutCache)).toEqual([])
    expect(totalsOf(without, 'required')).toEqual({ all: 157, passed: 47, failed: 6, unanswered: 104 })
    expect(totalsOf(without, 'optimal')).toEqual({ all: 86, passed: 1, failed: 73, unanswered: 12 })
  })
})

describe('the middleware', () => {
  test('passes every test of http-cache-tests but those listed, each with its reason', () => {
    expect(differences(results, expected)).toEqual([])
  })

  test('makes nothing worse than it is without a cache', () => {
    expect(worsened(results, withoutCache)).toEqual([])
  })

  test('passes as many tests as were passed before', () => {
    expect(totalsOf(results, 'required').passed).toBeGreaterThanOrEqual(leastRequired)
    expect(totalsOf(results, 'optimal').passed).toBeGreaterThanOrEqual(leastOptimal)
  })
})
