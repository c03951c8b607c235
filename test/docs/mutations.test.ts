import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { allMutations } from '../../tools/mutations/all.mjs'

// `npm run mutate` takes an hour, so it would be noticed late that the code has moved on.
test.for([...allMutations])('the break "$name" applies to one place of the code, and names its tests', (mutation) => {
  const { file, from, to, tests } = mutation
  const text = readFileSync(join(checkout, file), 'utf8')
  expect(text.split(from)).toHaveLength(2)
  expect(to).not.toBe(from)
  expect(tests.filter((each) => !existsSync(join(checkout, each)))).toEqual([])
})

test('no two breaks have one name', () => {
  const names = allMutations.map(({ name }) => name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})
