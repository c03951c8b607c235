import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { withCode } from '../../examples/steps/run-all.mjs'
import { checkout } from '../../tools/command.mjs'
import { doc, rows } from './markdown.ts'

const { text } = doc('docs/steps.md')

test('the code on the page of the steps is that of their files', () => {
  expect(withCode(text)).toBe(text)
})

describe('a step in the table has as many queries as its file promises', () => {
  const lines = rows(text, 'step')

  test('for eight steps', () => {
    expect(lines).toHaveLength(8)
  })

  test.for(lines)('%s', ([link = '', title, cell]) => {
    const name = /^\[(.*?)\]/.exec(link)?.[1] ?? ''
    const file = readFileSync(join(checkout, 'examples/steps', name), 'utf8')
    const [, callers, queries] = /(\d+) callers, .*: (\d+) quer/.exec(file) ?? []
    expect(cell).toBe(`${queries} of ${callers}`)
    expect(file).toContain(` * ${title}`)
  })
})
