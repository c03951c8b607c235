import { describe, expect, test } from 'vitest'
import { CacheError, loadFailedError, quoted } from '../../src/core/errors.ts'
import { throwing } from './support/source.ts'

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

  test('is an instance of the class of every copy of the library', async () => {
    const copy: string = '../../src/core/errors.ts?copy'
    const { CacheError: Other } = (await import(copy)) as { CacheError: typeof CacheError }
    expect(Other).not.toBe(CacheError)
    expect(new Other('CLOSED', 'x') instanceof CacheError).toBe(true)
    expect(new CacheError('CLOSED', 'x') instanceof Other).toBe(true)
  })

  test('is not an instance of a subclass, and one of a subclass is one of its own alone', () => {
    class Own extends CacheError {}
    class Another extends CacheError {}
    const error: unknown = new Own('CLOSED', 'x')
    expect([CacheError, Own, Another].map((each) => error instanceof each)).toEqual([true, true, false])
    expect((new CacheError('CLOSED', 'x') as unknown) instanceof Own).toBe(false)
  })

  test.each([
    ['an error', new Error('x')],
    ['its look-alike', { name: 'CacheError', code: 'CLOSED' }],
    ['nothing', null],
    ['undefined', undefined],
    ['a text', 'CacheError'],
    ['a proxy that throws', new Proxy({}, { get: throwing(new Error('x')) })],
  ])('%s is none', (_, thrown) => {
    expect((thrown as unknown) instanceof CacheError).toBe(false)
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
