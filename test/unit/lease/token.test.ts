import { expect, test } from 'vitest'
import { tokenLength, tokens } from '../../../src/core/lease/token.ts'

test('no two loads have the same token, of one source or of two (rule 1)', () => {
  const [one, other] = [tokens(), tokens()]
  const drawn = new Set(Array.from({ length: 50_000 }, () => [one(), other()]).flat())
  expect(drawn.size).toBe(100_000)
})

test('every token is sixteen characters of ASCII, for it stands in a header of fixed width', () => {
  const token = tokens()
  for (let count = 0; count < 50_000; count++) expect(token()).toMatch(/^[\w-]{16}$/)
  expect(tokenLength).toBe(16)
})
