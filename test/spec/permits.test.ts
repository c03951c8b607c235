import { beforeAll, describe, test } from 'vitest'
import { permitBreaks, permitProofs } from '../../spec/permit-searches.mjs'
import { model } from '../../spec/searches.mjs'
import { provisionModelChecker, searched, type ModelChecker } from '../../tools/model-checker.mjs'

/** A landing searches what is over within a second or two. */
const isThorough = process.env['THOROUGH'] === 'yes'
const quick = new Set(['permits', 'permits_served', 'NO_NUMBER_CHECK', 'MESSAGES_ALONE', 'KEPT_SHARE_ROUNDED_UP'])
const chosen = ({ name }: { name: string }) => isThorough || quick.has(name)

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

describe('the model of the permits of a source', () => {
  test.for(permitProofs.filter(chosen))('keeps its promises: $name ($what)', async (question, { expect, skip }) => {
    if (missing !== undefined) skip(missing)
    const found = await searched(checker, { model, ...question })
    expect(found).toMatchObject({ counterexample: null, incomplete: null })
    expect(found.states).toBeGreaterThan(1_000)
  })

  test.for(permitBreaks.filter(chosen))(
    'shows what is wrong where $what ($name)',
    async (question, { expect, skip }) => {
      if (missing !== undefined) skip(missing)
      const found = await searched(checker, { model, ...question })
      expect(found.incomplete).toBe(null)
      expect(found.counterexample).toMatch(question.shows ?? /nothing/)
    },
  )
})
