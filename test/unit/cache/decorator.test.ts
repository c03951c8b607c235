import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cached, cachedMethod, createCache, type Cache } from '../../../src/index.ts'
import type { decorated as Decorated, injected as Injected } from '../support/decorated.ts'

const modes = { standard: false, experimental: true }

describe.each(Object.entries(modes))('with %s decorators', (mode, experimentalDecorators) => {
  let folder: string
  let decorated: typeof Decorated
  let injected: typeof Injected

  // By the compiler, because whatever runs the tests knows but one kind.
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), `herdless-${mode}-`))
    const tsc = createRequire(import.meta.url)
      .resolve('typescript/package.json')
      .replace('package.json', 'bin/tsc')
    const source = fileURLToPath(new URL('../support/decorated.ts', import.meta.url))
    const compilerOptions = {
      target: 'es2022',
      module: 'esnext',
      experimentalDecorators,
      rootDir: dirname(source),
      outDir: folder,
      noCheck: true,
      noResolve: true,
      isolatedModules: true,
      types: [],
    }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [source] }))
    await promisify(execFile)(process.execPath, [tsc, '-p', folder])
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    ;({ decorated, injected } = (await import(pathToFileURL(join(folder, 'decorated.js')).href)) as {
      decorated: typeof Decorated
      injected: typeof Injected
    })
  })

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  test('a method is called once for its arguments, by whichever instance asks first', async () => {
    const cache = createCache()
    const { Users, calls } = decorated(cache, cached)
    const [one, other] = [new Users('one'), new Users('other')]
    const answers = await Promise.all([one.byId(42, 'de'), other.byId(42, 'de'), other.byId(7)])
    expect(answers).toEqual(['one 42 de', 'one 42 de', 'other 7 undefined'])
    expect(calls).toEqual([
      [one, 42, 'de'],
      [other, 7, undefined],
    ])
    expect(calls[0]?.[0] === one).toBe(true)
    expect(await cache.peek('user(42,"de")')).toMatchObject({ value: 'one 42 de' })
    expect(Users.prototype.byId.name).toBe('byId')
  })

  test('its methods are at hand, with the object as this', async () => {
    const { Users, calls } = decorated(createCache(), cached)
    const users = new Users('one')
    const byId = cachedMethod(users, 'byId')
    expect(byId.keyOf(42, 'de')).toBe('user(42,"de")')
    await users.byId(42)
    await byId.invalidate(42)
    expect(await byId.peek(42)).toEqual({ state: 'missing' })
    expect(await byId.refresh(42)).toBe('one 42 undefined')
    expect(await byId.refresh(42)).toBe('one 42 undefined')
    expect(calls.map(([self]) => self === users)).toEqual([true, true, true])
  })

  test('a function may make the key', async () => {
    const { Users, calls } = decorated(createCache(), cached)
    const users = new Users('one')
    expect([await users.byName('Ada'), await users.byName('ADA')]).toEqual(['Ada', 'Ada'])
    expect(cachedMethod(users, 'byName').keyOf('Ada')).toBe('user:ada')
    expect(calls).toHaveLength(1)
  })

  test('static methods are methods, and classes can be extended', async () => {
    const { Users, Admins, calls } = decorated(createCache(), cached)
    expect([await Users.latest(), await Users.latest()]).toEqual(['latest', 'latest'])
    expect(calls).toEqual([[Users]])
    const admins = new Admins('one')
    expect([await admins.byId(1), await admins.byId(1)]).toEqual(Array(2).fill('admin one 1 undefined'))
    expect(calls).toHaveLength(2)
  })

  test('a second class under the same names is refused when it is defined', () => {
    const cache = createCache()
    decorated(cache, cached)
    expect(() => decorated(cache, cached)).toThrow(
      /this cache has wrapped a function as "(user|latest)" \(string\) already/,
    )
  })

  test('a method finds the cache that its object was given, and is wrapped once for each cache', async () => {
    const { Products, calls } = injected(cached)
    const [ours, theirs] = [createCache(), createCache()]
    const [one, other, elsewhere] = [new Products(ours), new Products(ours), new Products(theirs)]
    for (const products of [one, other, elsewhere]) expect(await products.byId(1)).toBe('product 1')
    expect(calls).toEqual([
      [one, 1],
      [elsewhere, 1],
    ])
    expect(one.byId.name).toBe('byId')
    const byId = cachedMethod(other, 'byId')
    expect(byId.keyOf(1)).toBe('product(1)')
    await byId.invalidate(1)
    expect(await ours.peek('product(1)')).toEqual({ state: 'missing' })
    expect(await cachedMethod(elsewhere, 'byId').peek(1)).toMatchObject({ value: 'product 1' })
    expect(await byId.refresh(1)).toBe('product 1')
    expect(calls[2]?.[0] === other).toBe(true)
  })

  test('an object without a cache is refused when it is called, and a second method of one name', async () => {
    const { Products } = injected(cached)
    await expect(new Products().byId(1)).rejects.toThrow(
      'Expected the function of `cached` to return a cache, got undefined',
    )
    const cache = createCache()
    await new Products(cache).byId(1)
    const again = injected(cached)
    await expect(new again.Products(cache).byId(1)).rejects.toThrow('as "product" (string) already')
  })
})

describe('what is no method', () => {
  const decorate = cached(createCache(), { key: 'a' }) as (...args: unknown[]) => unknown
  const get = (): number => 1

  test.for<[string, unknown[]]>([
    ['a getter', [get, { kind: 'getter', name: 'a' }]],
    ['a field', [undefined, { kind: 'field', name: 'a' }]],
    ['a class', [class {}, { kind: 'class', name: 'A' }]],
    ['undefined', [{}, 'a', { get, configurable: true }]],
    ['undefined', [{}, 'a', undefined]],
    ['undefined', [class {}]],
  ])('is refused: %s', ([what, args]) => {
    expect(() => decorate(...args)).toThrow(TypeError)
    expect(() => decorate(...args)).toThrow(`Expected \`cached\` to decorate a method, got ${what}`)
  })

  test('has no methods of a cached one', () => {
    const object = { method: async () => 1, value: 5, none: undefined }
    for (const name of ['method', 'value', 'none'] as const) {
      expect(() => cachedMethod(object, name)).toThrow(`Expected \`${name}\` to be a cached method, got `)
    }
  })
})

test('options are refused when the class is defined, whatever cache its objects will have', () => {
  const decorate = (options: object): unknown => {
    const decorator = cached((self: { cache: Cache }) => self.cache, options as { key: string })
    return decorator(async () => 1, { kind: 'method' })
  }
  expect(() => decorate({ key: 'a()' })).toThrow('Expected `key` to be a name of 1 to 200 characters')
  expect(() => decorate({ key: 'a', tll: '1m' })).toThrow('Unknown option `tll` of wrap')
  expect(() => decorate({ key: 'a', ttl: '5 m' })).toThrow('Expected `ttl` to be a positive number of milliseconds')
  // What the cache alone can judge.
  expect(() => decorate({ key: 'a', source: 'pg' })).not.toThrow()
})
