import { readFileSync } from 'node:fs'
import { beforeEach, describe, test } from 'vitest'
import { provisionModelChecker, searched, trailOf, type ModelChecker } from '../../tools/model-checker.mjs'
import { breaks, model, proofs, type Question } from '../../spec/searches.mjs'
import { missing } from '../support/provided.ts'

const two = { PROCESSES: 2 }

/** The page that gives the figures. */
const page = readFileSync('docs/protocol.md', 'utf8')

/** The night has the time for all that is searched; a landing for what is over within seconds, two at a time. */
const isThorough = process.env['THOROUGH'] === 'yes'
const concurrent = !isThorough

/** Proofs that are over within seconds, of which no page gives the figures. */
const small: readonly Question[] = [
  {
    name: 'small',
    what: 'two processes, one of which may crash, and a lease or a value that may end before its time',
    looksFor: 'states',
    short: true,
    settings: { PROCESSES: 2, CRASHES: 1, EXPIRIES: 1 },
  },
  {
    name: 'small_answered',
    what: 'two processes, one of which may crash: no run is endless',
    looksFor: 'cycles',
    short: true,
    settings: { PROCESSES: 2, CRASHES: 1, ASK_AT_ANY_TIME: 1 },
  },
]

/** A break of safety, a dead end and an endless run. */
const telling = new Set(['NO_TOKEN_CHECK_IN_FILL', 'WAITERS_NEVER_REASK', 'ASKING_FOR_EVER'])

let checker: ModelChecker
const reason = await missing(async () => {
  checker = await provisionModelChecker()
})

beforeEach(({ skip }) => skip(reason !== undefined, reason))

describe('the model of the protocol', { concurrent }, () => {
  test.for(isThorough ? [...small, ...proofs] : small)(
    'keeps its promises: $name ($what)',
    async (question, { expect }) => {
      const found = await searched(checker, { ...question, model })
      expect(found).toMatchObject({ counterexample: null, incomplete: null })
      expect(found.states).toBeGreaterThan(small.includes(question) ? 10_000 : 100_000)
      // Another spin may count otherwise.
      if (!small.includes(question) && page.includes(`spin ${checker.spin.version}`))
        expect(page).toContain(spaced(found.states))
    },
  )

  test.for(breaks.filter(({ name }) => isThorough || telling.has(name)))(
    'shows what is wrong where $what ($name)',
    async (question, { expect }) => {
      const found = await searched(checker, { ...question, model })
      expect(found.incomplete).toBe(null)
      expect(found.counterexample).toMatch(question.shows ?? /nothing/)
    },
  )
})

describe('a search', { concurrent }, () => {
  test.for([
    { name: 'its depth', limit: { depth: 50 }, says: /max search depth too small/ },
    { name: 'its memory', limit: { megabytes: 1 }, says: /-DMEMLIM/ },
  ])('that is cut short by $name proves nothing', async ({ limit, says }, { expect }) => {
    const found = await searched(checker, { looksFor: 'states', short: true, settings: two, ...limit, model })
    expect(found.counterexample).toBe(null)
    expect(found.incomplete).toMatch(says)
  })

  test.for([
    { what: 'what is no model', settings: { byte: 1 }, says: /syntax error/ },
    { what: 'more processes than the model has room for', settings: { PROCESSES: 4 }, says: /preprocessing failed/ },
    {
      what: 'what the model does not know',
      settings: { ...two, CRASHS: 1 },
      says: /^Expected a macro of .*, got CRASHS$/,
    },
  ])('of $what is refused', async ({ settings, says }, { expect }) => {
    await expect(searched(checker, { looksFor: 'states', short: true, settings, model })).rejects.toThrow(says)
  })

  test('shows the way into a counterexample', async ({ expect }) => {
    const settings = { ...two, WAITERS_NEVER_REASK: 1 }
    expect(await trailOf(checker, { looksFor: 'states', short: true, settings, model })).toMatch(
      /Caller:1.*state\[0\] = /s,
    )
  })
})

/** 1234567 as 1 234 567. */
function spaced(number: number): string {
  return number.toLocaleString('en').replaceAll(',', ' ')
}
