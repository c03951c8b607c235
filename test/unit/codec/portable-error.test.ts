import { isNativeError } from 'node:util/types'
import { describe, expect, test } from 'vitest'
import { checkedErrors, noErrors, portableOf, revivedError } from '../../../src/core/codec/portable-error.ts'
import { CacheError } from '../../../src/index.ts'
import { fleet } from '../support/fleet.ts'
import type { PortableError } from '../../../src/core/errors.ts'
import { throwing } from '../support/source.ts'

class HttpError extends Error {
  readonly status: number
  readonly expose: boolean
  constructor(status: number, message: string) {
    super(message)
    this.status = status
    this.expose = status < 500
  }
  get isClientError(): boolean {
    return this.status < 500
  }
}

class NotFoundError extends HttpError {
  constructor(what: string) {
    super(404, `${what} not found`)
  }
}

const known = checkedErrors('errors', [HttpError, NotFoundError])

/** An error as another process has it. */
function travelled(error: Error, knowledge = known): Error {
  return revivedError(JSON.parse(JSON.stringify(portableOf(error, knowledge))) as PortableError, knowledge)
}

describe('an error in another process', () => {
  test('is an instance of its class, with its properties and those of the class', () => {
    const error = travelled(new NotFoundError('product 7'))
    expect(error).toBeInstanceOf(NotFoundError)
    expect(error).toMatchObject({ message: 'product 7 not found', status: 404, expose: true, isClientError: true })
    expect(isNativeError(error)).toBe(true)
  })

  test('is an instance of a class whose name is made from a private field, and is shared as any other', async () => {
    class Guarded extends Error {
      readonly #name = 'Guarded'
      override get name(): string {
        return this.#name
      }
    }
    const { a, b } = fleet({ errors: [Guarded], onStoreFailure: 'throw' })
    const thrown = new Guarded('no')
    await expect(a.getOrLoad('k', () => Promise.reject(thrown))).rejects.toBe(thrown)
    const error = await b.getOrLoad('k', () => 'never').catch((other: unknown) => other)
    expect(error).toBeInstanceOf(Guarded)
    expect(error).toMatchObject({ name: 'Guarded', message: 'no' })
  })

  test('is an instance of the nearest class that is given', () => {
    class Gone extends NotFoundError {}
    const error = travelled(new Gone('product 7'))
    expect(error.constructor).toBe(NotFoundError)
  })

  test.for([TypeError, RangeError, SyntaxError])('is a %o as every process has it', (kind) => {
    expect(travelled(new kind('x'), noErrors)).toBeInstanceOf(kind)
  })

  test('is a CacheError if one was thrown, about the same key', () => {
    const error = travelled(new CacheError('WAIT_TIMEOUT', 'No answer', { key: 'inner' }), noErrors)
    expect(error).toBeInstanceOf(CacheError)
    expect(error).toMatchObject({ name: 'CacheError', code: 'WAIT_TIMEOUT', key: 'inner' })
  })

  test('has the name, the code and the status of an error of an unknown class', () => {
    const given = Object.assign(new Error('gone'), { name: 'GoneError', code: 'E_GONE', statusCode: 410 })
    expect(travelled(given, noErrors)).toMatchObject({
      name: 'GoneError',
      message: 'gone',
      code: 'E_GONE',
      statusCode: 410,
    })
  })

  test('has its causes, up to five', () => {
    let error = new Error('the first')
    for (let depth = 0; depth < 9; depth++) error = new Error(`level ${depth}`, { cause: error })
    const causes: string[] = []
    for (let each: unknown = travelled(error); each instanceof Error; each = each.cause) causes.push(each.message)
    expect(causes).toEqual(['level 8', 'level 7', 'level 6', 'level 5', 'level 4'])
  })

  test('has nothing that looks like a secret, at any depth', () => {
    const given = Object.assign(new Error('refused'), {
      password: 'p',
      accessToken: 't',
      Authorization: 'a',
      api_key: 'k',
      meta: { user: 'ada', sessionId: 's', list: [{ cookie: 'c', id: 1 }] },
    })
    const portable = portableOf(given, known)
    expect(portable.properties).toEqual({ meta: { user: 'ada', list: [{ id: 1 }] } })
  })

  test('has no values of a query', () => {
    const given = Object.assign(new Error('Failed query: select $1\nparams: ada@example.com'), {
      query: 'select',
      params: ['ada@example.com'],
      detail: 'Key (email)=(ada@example.com) already exists.',
      constraint: 'users_email_key',
    })
    expect(JSON.stringify(portableOf(given, known))).not.toContain('ada')
    expect(travelled(given)).toMatchObject({ message: 'Failed query: select $1', constraint: 'users_email_key' })
  })

  test('has no name and password of an address', () => {
    const { message } = travelled(new Error('connect postgres://ada:secret@db:5432/shop refused'))
    expect(message).toBe('connect postgres://db:5432/shop refused')
  })

  test('has none of the properties that the option names', () => {
    const knowledge = checkedErrors('errors', { omit: ['tenant'] })
    expect(portableOf(Object.assign(new Error('x'), { tenant: 'ada', status: 400 }), knowledge).properties).toEqual({
      status: 400,
    })
  })

  test.for<[string, unknown]>([
    ['a function', () => 7],
    ['an instance', new Map()],
    ['a bigint', 7n],
    ['not a number', Number.NaN],
    ['a long text', 'x'.repeat(2_000)],
    ['an object with an instance', { request: new Date() }],
    ['a deep object', { a: { b: { c: { d: { e: 1 } } } } }],
  ])('has no property that is %s', ([, extra]) => {
    expect(portableOf(Object.assign(new Error('x'), { extra, status: 400 }), known).properties).toEqual({ status: 400 })
  })

  test('is bounded, however many properties it has', () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`p${index}`, 'x'.repeat(500)]))
    expect(JSON.stringify(portableOf(Object.assign(new Error('x'), many), known)).length).toBeLessThan(10_000)
  })

  const refuse = throwing(new Error('refused'))
  const hostile = {
    'a message that is no text': Object.defineProperty(new Error('x'), 'message', { value: Symbol('no text') }),
    'a stack that throws': Object.defineProperty(new Error('x'), 'stack', { get: refuse }),
    'properties that throw': Object.defineProperty(new Error('x'), 'status', { get: refuse, enumerable: true }),
    'members that throw': Object.assign(new Error('x'), {
      detail: Object.defineProperty({}, 'of', { get: refuse, enumerable: true }),
    }),
    'a proxy that shows nothing': new Proxy(new Error('x'), { ownKeys: refuse, getOwnPropertyDescriptor: refuse }),
    'a proxy without a class': new Proxy(new Error('x'), { getPrototypeOf: refuse }),
    'a proxy that refuses all': new Proxy(new Error('x'), { get: refuse, getPrototypeOf: refuse, ownKeys: refuse }),
  }
  test.for(Object.entries(hostile))('is made of an error with %s', async ([, error]) => {
    const { a, b } = fleet()
    const thrown = await a.getOrLoad('k', () => Promise.reject(error)).catch((e: unknown) => e)
    const there = await b.getOrLoad('k', () => 'loaded').catch((e: unknown) => e)
    expect(there).toBeInstanceOf(Error)
    expect(thrown === error || (thrown as CacheError).cause === error).toBe(true)
  })

  test('leaves the error itself as it is', () => {
    const error = Object.freeze(new NotFoundError('product 7'))
    expect(portableOf(error, known).type).toBe('NotFoundError')
    expect(Object.keys(error)).toEqual(['status', 'expose'])
  })

  test('does not change the prototype of its objects', () => {
    const portable = JSON.parse(
      '{"name":"Error","message":"x","properties":{"__proto__":{"polluted":1},"meta":{"__proto__":{"polluted":1}}}}',
    ) as PortableError
    const error = revivedError(portable, known)
    expect([Reflect.get(error, 'polluted'), Reflect.get({}, 'polluted')]).toEqual([undefined, undefined])
    expect(Object.getPrototypeOf((error as { meta?: object }).meta ?? {})).toBe(Object.prototype)
  })
})

test.for<[unknown, RegExp]>([
  [7, /Expected `errors` to be an array of classes, or an object, got 7/],
  [{ class: [] }, /Expected `errors` to have `classes` or `omit`, got `class`/],
  [[() => 7], /Expected the classes of `errors` to extend Error, or to be { class, write, read }, got/],
  [[HttpError, class HttpError extends Error {}], /names of their own, got 'HttpError'/],
  [{ omit: 'tenant' }, /Expected `errors.omit` to be an array of strings, got "tenant"/],
])('the option refuses %o', ([value, says]) => {
  expect(() => checkedErrors('errors', value)).toThrow(says)
})

describe('a class with functions', () => {
  class QuotaError extends Error {
    readonly #limit: number
    constructor(limit: number) {
      super(`more than ${limit}`)
      this.#limit = limit
    }
    get limit(): number {
      return this.#limit
    }
  }
  const form = {
    class: QuotaError,
    write: ({ limit }: QuotaError): unknown => ({ limit }),
    read: ({ limit }: { limit: number }) => new QuotaError(limit),
  }

  test('has its private fields in other processes, too', () => {
    const error = travelled(new QuotaError(5), checkedErrors('errors', [form]))
    expect(error).toBeInstanceOf(QuotaError)
    expect(error).toMatchObject({ limit: 5, message: 'more than 5' })
  })

  test('is used for a cause', () => {
    const error = travelled(new Error('x', { cause: new QuotaError(5) }), checkedErrors('errors', [form]))
    expect(error.cause).toMatchObject({ limit: 5 })
  })

  const fails = throwing(new Error('wrong'))
  test.for([
    ['throws on the way out', { ...form, write: fails }],
    ['throws on the way in', { ...form, read: fails }],
    ['has nothing to say', { ...form, write: () => undefined }],
    ['has too much to say', { ...form, write: () => 'x'.repeat(8_001) }],
    ['writes what JSON cannot hold', { ...form, write: () => 1n }],
    ['reads what is no error', { ...form, read: () => 'an error' as never }],
  ] as const)('that %s travels without them', ([, given]) => {
    const error = travelled(Object.assign(new QuotaError(5), { status: 429 }), checkedErrors('errors', [given]))
    expect(error).toBeInstanceOf(QuotaError)
    expect(error.message).toBe('more than 5')
  })
})
