import { expect, test } from 'vitest'
import { differences, totalsInWords, totalsOf, worsened, type Miss } from './compare.ts'
import type { Result, Results } from './run.ts'

/** What a run said, of tests that are required unless they are of another kind. */
function said(outcomes: Record<string, Result['outcome'] | Partial<Result>>): Results {
  return new Map(
    Object.entries(outcomes).map(([id, given]) => {
      const known: Result = { id, suite: 'Suite', name: id, kind: 'required', outcome: 'passed', detail: '' }
      return [id, { ...known, ...(typeof given === 'string' ? { outcome: given } : given) }]
    }),
  )
}

const misses: readonly Miss[] = [
  { outcome: 'failed', because: 'It wants more.', ids: ['one', 'two'] },
  { outcome: 'dependency failed', because: 'It needs two.', ids: ['three'] },
]

const asListed = { one: 'failed', two: 'failed', three: 'dependency failed', four: 'passed' } as const

test('a run that is as the list says differs in nothing', () => {
  expect(differences(said(asListed), misses)).toEqual([])
})

test.for<[what: string, outcomes: Parameters<typeof said>[0], difference: string]>([
  [
    'a failure that is not listed',
    { four: { outcome: 'failed', detail: 'Response 2 comes from cache' } },
    'four (required) was to be passed, and is failed. Response 2 comes from cache',
  ],
  [
    'an optimal failure that is not listed',
    { four: { kind: 'optimal', outcome: 'failed' } },
    'four (optimal) was to be passed, and is failed.',
  ],
  ['a listed failure that passes', { two: 'passed' }, 'two (required) was to be failed, and passes'],
  [
    'a listed failure that fails in another way',
    { three: 'setup failed' },
    'three (required) was to be dependency failed, and is setup failed.',
  ],
])('%s is a difference', ([, outcomes, difference]) => {
  expect(differences(said({ ...asListed, ...outcomes }), misses)).toEqual([difference])
})

test('what is listed and not in the suite, or a check, or listed twice is a difference', () => {
  const { one: _, ...others } = asListed
  expect(
    differences(said({ ...others, check: { kind: 'check', outcome: 'no' } }), [
      ...misses,
      { outcome: 'failed', because: 'Nobody knows.', ids: ['two', 'check'] },
    ]),
  ).toEqual([
    'two is listed twice',
    'one is listed, and no required or optimal test of the suite',
    'check is listed, and no required or optimal test of the suite',
  ])
})

test('the answers of checks are no difference, and never worse', () => {
  const results = said({ ...asListed, yes: { kind: 'check', outcome: 'yes' }, no: { kind: 'check', outcome: 'no' } })
  expect(differences(results, misses)).toEqual([])
  expect(worsened(results, said({ ...asListed, no: { kind: 'check', outcome: 'yes' } }))).toEqual([])
})

test('what passed without a cache is worse if it does not with one, and what failed if it cannot be asked', () => {
  const before = said(asListed)
  const worse = said({ ...asListed, one: 'retried', two: 'setup failed', four: { outcome: 'failed', detail: 'Why.' } })
  expect(worsened(worse, before)).toEqual([
    'one failed without a cache, and is retried with it.',
    'two failed without a cache, and is setup failed with it.',
    'four passed without a cache, and is failed with it. Why.',
  ])
  // What failed may pass, and what could not be asked may fail.
  expect(worsened(said({ ...asListed, one: 'passed', three: 'failed' }), before)).toEqual([])
})

test('the totals count what passed, what failed and what said nothing, of each kind', () => {
  const results = said({ ...asListed, five: { kind: 'optimal' }, six: { kind: 'check', outcome: 'yes' } })
  expect(totalsOf(results, 'required')).toEqual({ all: 4, passed: 1, failed: 2, unanswered: 1 })
  expect(totalsInWords(results)).toBe(
    'required: 1 of 4 passed, 2 failed, 1 said nothing; optimal: 1 of 1 passed, 0 failed, 0 said nothing',
  )
})
