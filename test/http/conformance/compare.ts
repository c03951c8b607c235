/** What a run is measured by: the list of what does not pass, and the totals. */
import type { Outcome, Result, Results } from './run.ts'

/** Tests that do not pass, for the same reason. */
export interface Miss {
  readonly outcome: Exclude<Outcome, 'passed' | 'yes' | 'no'>
  /** Why, in a sentence. */
  readonly because: string
  readonly ids: readonly string[]
}

/** How many tests of a kind came out how. */
export interface Totals {
  readonly all: number
  readonly passed: number
  readonly failed: number
  /** Those that said nothing, most of them since another one failed before. */
  readonly unanswered: number
}

/**
 * In what a run differs from the list, in words; empty when it does not. What is not listed has to pass, and what is
 * listed has to fail as the list says. Checks ask what a cache does, and not whether that is right: they differ in nothing.
 */
export function differences(results: Results, misses: readonly Miss[]): string[] {
  const listed = misses.flatMap(({ outcome, ids }) => ids.map((id) => ({ id, outcome })))
  const expected = new Map(listed.map(({ id, outcome }) => [id, outcome]))
  const twice = listed.filter(
    ({ id, outcome }, index) => listed.findIndex((each) => each.id === id) !== index && outcome,
  )
  const unknown = [...expected.keys()].filter((id) => (results.get(id)?.kind ?? 'check') === 'check')
  return [
    ...twice.map(({ id }) => `${id} is listed twice`),
    ...unknown.map((id) => `${id} is listed, and no required or optimal test of the suite`),
    ...judged(results).flatMap((result) => difference(result, expected.get(result.id) ?? 'passed')),
  ]
}

/**
 * What a run has made worse than it is without a cache, in words. What passes there has to pass, and what fails there
 * has to pass or fail, and not to hide behind something else that fails.
 */
export function worsened(results: Results, withoutCache: Results): string[] {
  return judged(results).flatMap(({ id, outcome, detail }) => {
    const was = withoutCache.get(id)?.outcome ?? 'passed'
    const worse = was === 'passed' ? outcome !== 'passed' : was === 'failed' && !['passed', 'failed'].includes(outcome)
    return worse ? [`${id} ${was} without a cache, and is ${outcome} with it. ${detail}`.trimEnd()] : []
  })
}

/** The totals of a kind. */
export function totalsOf(results: Results, kind: Result['kind']): Totals {
  const outcomes = [...results.values()].filter((result) => result.kind === kind).map(({ outcome }) => outcome)
  const passed = outcomes.filter((outcome) => outcome === 'passed').length
  const failed = outcomes.filter((outcome) => outcome === 'failed').length
  return { all: outcomes.length, passed, failed, unanswered: outcomes.length - passed - failed }
}

/** The totals of what can be passed, in a line. */
export function totalsInWords(results: Results): string {
  const ofKind = (kind: 'required' | 'optimal'): string => {
    const { all, passed, failed, unanswered } = totalsOf(results, kind)
    return `${kind}: ${passed} of ${all} passed, ${failed} failed, ${unanswered} said nothing`
  }
  return `${ofKind('required')}; ${ofKind('optimal')}`
}

function judged(results: Results): Result[] {
  return [...results.values()].filter(({ kind }) => kind !== 'check')
}

function difference({ id, kind, outcome, detail }: Result, expected: Outcome): string[] {
  if (outcome === expected) return []
  if (outcome === 'passed') return [`${id} (${kind}) was to be ${expected}, and passes`]
  return [`${id} (${kind}) was to be ${expected}, and is ${outcome}. ${detail}`.trimEnd()]
}
