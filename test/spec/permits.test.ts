import { beforeEach, describe, test } from 'vitest'
import { permitBreaks, permitProofs } from '../../spec/permit-searches.mjs'
import { model } from '../../spec/searches.mjs'
import { provisionModelChecker, searched, type ModelChecker } from '../../tools/model-checker.mjs'
import { missing } from '../support/provided.ts'

/** A landing searches what is over within a second or two. */
const isThorough = process.env['THOROUGH'] === 'yes'
const quick = new Set(['permits', 'permits_served', 'NO_NUMBER_CHECK', 'MESSAGES_ALONE', 'KEPT_SHARE_ROUNDED_UP'])
const chosen = ({ name }: { name: string }) => isThorough || quick.has(name)

let checker: ModelChecker
const reason = await missing(async () => {
  checker = await provisionModelChecker()
})

beforeEach(({ skip }) => skip(reason !== undefined, reason))

describe('the model of the permits of a source', () => {
  test.for(permitProofs.filter(chosen))('keeps its promises: $name ($what)', async (question, { expect }) => {
    const found = await searched(checker, { model, ...question })
    expect(found).toMatchObject({ counterexample: null, incomplete: null })
    expect(found.states).toBeGreaterThan(1_000)
  })

  test.for(permitBreaks.filter(chosen))('shows what is wrong where $what ($name)', async (question, { expect }) => {
    const found = await searched(checker, { model, ...question })
    expect(found.incomplete).toBe(null)
    expect(found.counterexample).toMatch(question.shows ?? /nothing/)
  })
})
