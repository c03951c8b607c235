import { beforeAll, describe, expect, test } from 'vitest'
import { framed } from '../support/frames.ts'
import { differences, totalsInWords, totalsOf, worsened } from './compare.ts'
import { expected } from './expected.ts'
import { conformanceOf, type Results } from './run.ts'
import { nothing, subject, subjectOf } from './subject.ts'

/** In the gate, those tests run that no real time decides; by night all of them do. */
const isTimed = framed !== null || process.env['THOROUGH'] === 'yes'

let results: Results

beforeAll(async () => {
  const server = framed === null ? {} : { server: subjectOf(framed) }
  results = await conformanceOf(framed === null ? subject() : nothing, { isTimed, ...server })
  console.log(totalsInWords(results))
})

test('the middleware passes every test of http-cache-tests but those listed, each with its reason', () => {
  const run = expected.map((miss) => ({ ...miss, ids: miss.ids.filter((id) => isTimed || results.has(id)) }))
  expect(differences(results, run)).toEqual([])
  expect(results.size).toBeGreaterThanOrEqual(150)
})

test.runIf(isTimed)('it passes as many of them as before, whatever is listed', () => {
  expect(totalsOf(results, 'required').passed).toBeGreaterThanOrEqual(142)
  expect(totalsOf(results, 'optimal').passed).toBeGreaterThanOrEqual(76)
})

// The others come out the same way, and without a cache there is no other framework.
describe.runIf(framed === null && isTimed)('without a cache', () => {
  let without: Results

  beforeAll(async () => {
    without = await conformanceOf(nothing)
  })

  test('the suite finds that nothing is answered from one', () => {
    expect(totalsOf(without, 'required')).toEqual({ all: 157, passed: 47, failed: 6, unanswered: 104 })
    expect(totalsOf(without, 'optimal')).toEqual({ all: 86, passed: 1, failed: 73, unanswered: 12 })
  })

  test('nothing is better than with the middleware', () => {
    expect(worsened(results, without)).toEqual([])
  })
})
