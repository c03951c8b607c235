import { expect, test } from 'vitest'
import { scenarios } from '../chaos/scenarios/index.ts'
import { doc } from './markdown.ts'

test('the table of failures names every scenario of the fault suite, and no other', () => {
  const rows = doc('docs/reliability.md').text.split('\n')
  const named = rows.flatMap((row) => {
    const last = /^\|.*\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|$/.exec(row)?.[1] ?? ''
    return [...last.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name)
  })
  expect(new Set(named)).toEqual(new Set(scenarios.map(({ name }) => name)))
})
