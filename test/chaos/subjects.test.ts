import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { scenarios, subjects } from './scenarios/index.ts'

test('every subject has a test file', () => {
  const missing = Object.keys(subjects).filter((name) => !existsSync(new URL(`${name}.test.ts`, import.meta.url)))
  expect(missing).toEqual([])
})

test('every scenario has a name of its own, which can be typed', () => {
  const names = scenarios.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => !/^[a-z_]+$/.test(name))).toEqual([])
})

test('every scenario says what happens and what must hold, in a sentence', () => {
  const odd = scenarios.filter(({ what }) => !/^[A-Z].*[:,].*\.$/.test(what))
  expect(odd.map(({ name }) => name)).toEqual([])
})
