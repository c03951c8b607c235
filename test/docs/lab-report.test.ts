import { expect, test } from 'vitest'
import { report } from '../../examples/stampede-lab/report.mjs'

const setting = {
  processes: 4,
  callersPerProcess: 25,
  patience: 7_000,
  cores: 2,
  node: '22',
  postgres: '18',
  redis: '8',
}
const outcome = {
  way: 'herdless',
  source: 'fast',
  tries: 1,
  queries: 1,
  commands: 8,
  callers: 100,
  lastAnswer: 20,
} as const
const results = {
  setting,
  blocks: [{ source: 'fast' as const, alone: 10, outcomes: [{ ...outcome, errors: 0, messages: {} }] }],
  seconds: 3,
}

test('where no browser can open, the table of the lab says how its page is seen all the same', () => {
  expect(report(results, { hasBrowser: false })).toContain('npm run lab -- --page --port 8080')
  expect(report(results, { hasBrowser: true })).not.toContain('--page')
})
