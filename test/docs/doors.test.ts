import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { doors, promises, rowsOfPage } from '../apps/doors.ts'
import { doc } from './markdown.ts'

test('the table of doors has a row for each door and a column for each promise, and no empty cell', () => {
  const rows = rowsOfPage()
  expect([...rows.keys()]).toEqual(Object.keys(doors))
  expect([...rows.values()]).toEqual(Object.keys(doors).map(() => promises.map(() => '✓')))
  expect(doc('docs/doors.md').text).toContain(`| door | ${promises.join(' | ')} |`)
})

test.for(Object.entries(doors))('the suite of the door %s runs all its cells', ([door, suite]) => {
  const text = readFileSync(join(checkout, `test/apps/${suite}.test.ts`), 'utf8')
  const names = suite === 'doors' ? ['of Object.entries(doors)'] : [`'${door}'`]
  const runs = suite === 'next' ? promises.map((promise) => `'${promise}'`) : ['keepsPromises(']
  expect([...names, ...runs].filter((each) => !text.includes(each))).toEqual([])
})
