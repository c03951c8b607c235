import { describe, expect, test } from 'vitest'
import { CacheError, fromFailure, toFailure, loadFailedError, quoted, type Failure } from '../../src/core/errors.ts'

/** What another process gets of an error. */
function travelled(error: CacheError): CacheError {
  const failure: Failure = JSON.parse(JSON.stringify(toFailure(error)))
  return fromFailure(failure, error.key ?? '')
}

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

describe('an error that travels to other processes', () => {
  test('keeps code, message and key, and name, message and code of its cause (rule 5)', () => {
    class DatabaseError extends Error {
      override name = 'DatabaseError'
      code = '57P01'
      password = 'secret'
    }
    const error = travelled(loadFailedError('k', new DatabaseError('terminating connection')))
    expect(error).toBeInstanceOf(CacheError)
    expect(error).toMatchObject({
      code: 'LOAD_FAILED',
      key: 'k',
      message: 'Loading "k" failed: terminating connection',
    })
    expect(error.cause).toBeInstanceOf(Error)
    expect(error.cause).toMatchObject({ name: 'DatabaseError', message: 'terminating connection', code: '57P01' })
    expect(error.cause).not.toHaveProperty('password')
  })

  test('keeps a code that is a number', () => {
    const error = travelled(loadFailedError('k', Object.assign(new Error('Not Found'), { code: 404 })))
    expect(error.cause).toMatchObject({ code: 404 })
  })

  test.for([
    ['an object', { secret: true }],
    ['a symbol', Symbol('s')],
    ['a boolean', true],
    ['a bigint', 7n],
    ['a function', () => 7],
  ] as const)('drops a code that is %s', ([, code]) => {
    expect(toFailure(loadFailedError('k', Object.assign(new Error('x'), { code }))).cause).toEqual({
      name: 'Error',
      message: 'x',
    })
  })

  test('never carries a stack', () => {
    const text = JSON.stringify(toFailure(loadFailedError('k', new Error('down'))))
    expect(text).not.toMatch(/\bat\b|errors\.test/)
    const { cause } = travelled(loadFailedError('k', new Error('down')))
    expect((cause as Error).stack).toBe('Error: down\n    at the loader, in another process')
  })

  test('is bounded, however long its parts are', () => {
    const long = 'x'.repeat(1_000_000)
    const cause = Object.assign(new Error(long), { name: long, code: long })
    const text = JSON.stringify(toFailure(loadFailedError('k', cause)))
    expect(text.length).toBeLessThan(5_000)
    expect(text).toContain('x…')
  })

  test('is bounded for whoever gets it, too, for anybody may have sent it', () => {
    const long = 'x'.repeat(1_000_000)
    const error = fromFailure(
      { code: 'LOAD_FAILED', message: long, cause: { name: long, message: long, code: long } },
      'k',
    )
    const { name, message, code, stack } = error.cause as Error & { code: string }
    for (const text of [error.message, name, message, code]) expect(text).toBe(`${'x'.repeat(1_000)}…`)
    expect(stack?.length).toBeLessThan(2_100)
  })

  test('is cut no further on its second way', () => {
    const once = toFailure(loadFailedError('k', new Error('x'.repeat(2_000))))
    const error = fromFailure(once, 'k')
    expect(error.message).toBe(once.message)
    expect((error.cause as Error).message).toBe(once.cause?.message)
  })

  test.for([
    ['a string', 'down', 'down'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 7, '7'],
    ['an object', { a: 1 }, '[object Object]'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an object that cannot be shown', Object.create(null), 'a value that cannot be shown was thrown'],
  ] as const)('says what was thrown when it was %s', ([, thrown, said]) => {
    const error = loadFailedError('k', thrown)
    expect(error.message).toBe(`Loading "k" failed: ${said}`)
    expect(error.cause).toBe(thrown)
    expect(travelled(error).message).toBe(error.message)
  })

  test('may have no cause', () => {
    const error = travelled(new CacheError('LOAD_TIMEOUT', 'Too long', { key: 'k' }))
    expect(error).toMatchObject({ code: 'LOAD_TIMEOUT', message: 'Too long', key: 'k' })
    expect(error.cause).toBeUndefined()
  })
})

test.for([
  ['a symbol', Symbol('s')],
  ['an object that cannot be shown', Object.create(null)],
  ['a number', 7],
  ['undefined', undefined],
] as const)('an error whose message is %s fails its load like any other', ([, message]) => {
  const thrown = new Error('x')
  Object.defineProperty(thrown, 'message', { value: message })
  const error = loadFailedError('k', thrown)
  expect(error.cause).toBe(thrown)
  expect(() => toFailure(error)).not.toThrow()
})

test('a circle is not wrapped at each of its levels (rule 9)', () => {
  const circle = new CacheError('CIRCULAR_LOAD', 'A → A', { key: 'A' })
  expect(loadFailedError('A', circle)).toBe(circle)
  const other = new CacheError('WAIT_TIMEOUT', 'x', { key: 'B' })
  expect(loadFailedError('A', other)).toMatchObject({ code: 'LOAD_FAILED', key: 'A', cause: other })
})
