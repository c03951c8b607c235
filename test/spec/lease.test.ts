import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { provisionModelChecker, searched, trailOf, type ModelChecker } from '../../tools/model-checker.mjs'
import { breaks, model, proofs } from '../../spec/searches.mjs'

/** The page that gives the figures. */
const page = readFileSync('docs/protocol.md', 'utf8')

/** What is needed, or why it cannot be had. Where everything must run, that is a failure. */
let checker: ModelChecker
let missing: string | undefined

beforeAll(async () => {
  try {
    checker = await provisionModelChecker()
  } catch (error) {
    if (process.env['CI']) throw error
    missing = (error as Error).message
  }
})

describe('the model of the protocol', () => {
  test.for(proofs)('keeps its promises: $name ($what)', async (question, { skip }) => {
    if (missing !== undefined) skip(missing)
    const found = await searched(checker, { ...question, model })
    expect(found).toMatchObject({ counterexample: null, incomplete: null })
    expect(found.states).toBeGreaterThan(100_000)
    // Another spin may count otherwise.
    const isOfThisSpin = page.includes(`spin ${checker.spin.version}`)
    expect(isOfThisSpin ? page : spaced(found.states)).toContain(spaced(found.states))
  })

  test.for(breaks)('shows what is wrong where $what ($name)', async (question, { skip }) => {
    if (missing !== undefined) skip(missing)
    const found = await searched(checker, { ...question, model })
    expect(found.incomplete).toBe(null)
    expect(found.counterexample).toMatch(question.shows ?? /nothing/)
  })
})

describe('a search', () => {
  test.for([
    { name: 'its depth', limit: { depth: 50 }, says: /max search depth too small/ },
    { name: 'its memory', limit: { megabytes: 1 }, says: /-DMEMLIM/ },
  ])('that is cut short by $name proves nothing', async ({ limit, says }, { skip }) => {
    if (missing !== undefined) skip(missing)
    const found = await searched(checker, {
      looksFor: 'states',
      short: true,
      settings: { PROCESSES: 2 },
      ...limit,
      model,
    })
    expect(found.counterexample).toBe(null)
    expect(found.incomplete).toMatch(says)
  })

  test('of what is no model is refused', async ({ skip }) => {
    if (missing !== undefined) skip(missing)
    await expect(searched(checker, { looksFor: 'states', settings: { byte: 1 }, model })).rejects.toThrow(
      /syntax error/,
    )
  })

  test('of more processes than the model has room for is refused', async ({ skip }) => {
    if (missing !== undefined) skip(missing)
    const settings = { PROCESSES: 4 }
    await expect(searched(checker, { looksFor: 'states', short: true, settings, model })).rejects.toThrow(
      /preprocessing failed/,
    )
  })

  test('of what the model does not know is refused', async ({ skip }) => {
    if (missing !== undefined) skip(missing)
    const settings = { PROCESSES: 2, CRASHS: 1 }
    await expect(searched(checker, { looksFor: 'states', settings, model })).rejects.toThrow(TypeError)
  })

  test('shows the way into a counterexample', async ({ skip }) => {
    if (missing !== undefined) skip(missing)
    const settings = { PROCESSES: 2, WAITERS_NEVER_REASK: 1 }
    expect(await trailOf(checker, { looksFor: 'states', short: true, settings, model })).toMatch(
      /Caller:1.*state\[0\] = /s,
    )
  })
})

/** 1234567 as 1 234 567. */
function spaced(number: number): string {
  return number.toLocaleString('en').replaceAll(',', ' ')
}
