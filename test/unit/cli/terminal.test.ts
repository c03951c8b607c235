import { afterEach, describe, expect, test, vi } from 'vitest'
import { asText } from '../../../src/cli/doctor/report.ts'
import { about } from '../../../src/cli/doctor/finding.ts'
import type { Question } from '../../../src/cli/doctor/options.ts'
import { inUnits } from '../../../src/cli/lines.ts'
import { painted, wrapped } from '../../../src/cli/terminal.ts'

/** The output is a terminal as wide as this, which has colours. */
function isTerminal(columns: number): void {
  vi.stubEnv('NO_COLOR', undefined)
  vi.stubEnv('TERM', 'xterm-256color')
  const properties = { isTTY: true, columns, getColorDepth: () => (process.env['NO_COLOR'] === undefined ? 8 : 1) }
  for (const [name, value] of Object.entries(properties)) {
    const before = Object.getOwnPropertyDescriptor(process.stdout, name)
    Object.defineProperty(process.stdout, name, { value, configurable: true })
    restores.push(() => {
      if (before === undefined) Reflect.deleteProperty(process.stdout, name)
      else Object.defineProperty(process.stdout, name, before)
    })
  }
}

const restores: (() => void)[] = []
afterEach(() => {
  for (const restore of restores.splice(0)) restore()
  vi.unstubAllEnvs()
})

describe('where the output is a terminal', () => {
  test('lines are wrapped between words, and what is longer than a line stays whole', () => {
    isTerminal(30)
    const address = 'file:///srv/shop/node_modules/herdless/docs/redis.md'
    expect(wrapped(`check  The first sentence of a finding, which is long\n${address}`, '       ').split('\n')).toEqual(
      ['check  The first sentence of a', '       finding, which is long', `       ${address}`],
    )
  })

  test('there are colours, unless NO_COLOR is set', () => {
    isTerminal(80)
    expect(painted('red', 'x')).toBe('\u{1b}[31mx\u{1b}[39m')
    vi.stubEnv('NO_COLOR', '1')
    expect(painted('red', 'x')).toBe('x')
  })
})

test('where it is not, lines are as long as they are, and have no colours', () => {
  const text = 'word '.repeat(100)
  expect(wrapped(`${text}\n${text}`, '  ')).toBe(`${text}\n  ${text}`)
  expect(painted('red', 'x')).toBe('x')
})

const question = { settings: { namespace: 'shop', wakeUp: 'push' } } as unknown as Question
const voice = about('memory', 'docs/production.md#memory')
const findings = [
  voice.problem('It is full', 'Do this'),
  voice.ok('Fine'),
  voice.warning('Hardly', ''),
  voice.note('So'),
]
const found = new Map([
  ['a:1', findings],
  ['b:2', [voice.ok('Fine')]],
])

test('the report of the doctor has the problems last, in red, and each page by its address', () => {
  isTerminal(200)
  const lines = asText(question, found).split('\n')
  // Each escape sequence but the last of a word says which colour it has.
  const levels = lines.flatMap((line) => /^\[(\d+)m(\w+)/.exec(line.slice(1))?.slice(1).join(' ') ?? [])
  expect(levels).toEqual(['32 ok', '32 ok', '36 note', '33 warning', '31 problem', '31 1'])
  expect(lines.indexOf('b:2')).toBeLessThan(lines.indexOf('a:1'))
  expect(lines.at(-3)).toMatch(/^ +file:\/\/\/.*\/docs\/production\.md#memory$/)
})

test('a sentence of a cache has its times in units, and what it quotes as it is', () => {
  const told = 'There is a value, written 5123 ms ago and fresh for another 3594877 ms'
  expect(inUnits(told)).toBe('There is a value, written 5.1 s ago and fresh for another 60 min')
  const failed = 'Its last load failed, and that is the answer for another 12000 ms: no answer within 5000 ms'
  expect(inUnits(failed)).toBe(
    'Its last load failed, and that is the answer for another 12 s: no answer within 5000 ms',
  )
})
