import { expect, test } from 'vitest'
import { tokenLength, tokens } from '../../../src/core/lease/token.ts'

test('no two loads have the same token, of one source or of two, and each has the sixteen characters of its header (rule 1)', () => {
  const [one, other] = [tokens(), tokens()]
  const drawn = new Set(Array.from({ length: 50_000 }, () => [one(), other()]).flat())
  expect(drawn.size).toBe(100_000)
  expect([...drawn].filter((token) => !/^[\w-]{16}$/.test(token))).toEqual([])
  expect(tokenLength).toBe(16)
})
