import { describe, expect, test } from 'vitest'
import { CacheError, loadFailedError, quoted } from '../../src/core/errors.ts'

describe('a cache error', () => {
  test('tells what happened by its code, and to which key', () => {
    const cause = new Error('down')
    const error = new CacheError('LOAD_FAILED', 'It failed', { key: 'k', cause })
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'CacheError', code: 'LOAD_FAILED', message: 'It failed', key: 'k', cause })
  })

  test('has no cause when none is known, not even an undefined one', () => {
    expect(Object.hasOwn(new CacheError('CLOSED', 'x'), 'cause')).toBe(false)
    expect(Object.hasOwn(new CacheError('CLOSED', 'x', { cause: undefined }), 'cause')).toBe(true)
  })

  test('quotes a key that is long or strange', () => {
    expect(quoted('a"b\n\0')).toBe(String.raw`"a\"b\n\u0000"`)
    expect(quoted('k'.repeat(101))).toBe(`"${'k'.repeat(100)}…"`)
  })
})

test('a circle is not wrapped at each of its levels (rule 9)', () => {
  const circle = new CacheError('CIRCULAR_LOAD', 'A → A', { key: 'A' })
  expect(loadFailedError('A', circle)).toBe(circle)
  const other = new CacheError('WAIT_TIMEOUT', 'x', { key: 'B' })
  expect(loadFailedError('A', other)).toMatchObject({ code: 'LOAD_FAILED', key: 'A', cause: other })
})
