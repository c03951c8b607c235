import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Definition, LoadContext } from '../../../src/index.ts'
import { allAsked } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { Source } from '../support/source.ts'

const schema = z.object({ id: z.number(), name: z.string() })
type Product = z.infer<typeof schema>

describe('a definition', () => {
  test('has one load in the fleet for all that get the same arguments', async () => {
    const { all } = fleet()
    const source = new Source<Product>()
    const asked: number[] = []
    const products = all.map((cache) =>
      cache.define({
        key: (id: number) => `product:${id}`,
        schema,
        load: (id, context) => (asked.push(id), source.loader(context)),
      }),
    )
    const answers = await allAsked(products.flatMap((product) => [product.get(7), product.get(7)]))
    expect(asked).toEqual([7])
    expect(source.run(0).context.key).toBe('product:7')
    await source.resolve(0, { id: 7, name: 'Tea' })
    expect(answers).toEqual(Array(6).fill({ state: 'value', value: { id: 7, name: 'Tea' } }))
  })

  test('has methods for its values alone, under their schema and their version', async () => {
    const { a, b } = fleet({ version: 1 })
    let loads = 0
    const definition = {
      key: (id: number) => `product:${id}`,
      schema,
      version: 2,
      load: (id: number) => ({ id, name: `loaded ${++loads}` }),
    }
    const [one, other] = [a.define(definition), b.define(definition)]
    expect(one.keyOf(7)).toBe('product:7')
    expect(await one.peek(7)).toEqual({ state: 'missing' })
    expect(await one.get(7)).toEqual({ id: 7, name: 'loaded 1' })
    expect(await other.peek(7)).toMatchObject({ state: 'fresh', value: { name: 'loaded 1' } })
    expect(await a.peek('product:7')).toEqual({ state: 'missing' })
    expect(await other.refresh(7)).toEqual({ id: 7, name: 'loaded 2' })
    await one.invalidate(7)
    expect(await other.get(7)).toEqual({ id: 7, name: 'loaded 3' })
    await a.invalidate('product:7')
    expect(await other.get(7)).toEqual({ id: 7, name: 'loaded 4' })
    await one.set(7, { id: 7, name: 'set' })
    expect(await other.get(7)).toEqual({ id: 7, name: 'set' })
    await expect(one.set(7, { id: 7 } as Product)).rejects.toMatchObject({ code: 'VALUE_INVALID' })
    await b.set('product:7', { id: 7 }, { version: 2 })
    expect(await one.peek(7)).toEqual({ state: 'missing' })
    expect(await one.get(7)).toEqual({ id: 7, name: 'loaded 5' })
  })

  test('has the tags that are made of its arguments, beside those that its loader adds', async () => {
    const { a, b } = fleet()
    const product = a.define({
      key: (shop: string, id: number) => `${shop}:${id}`,
      tags: (shop, id) => [`shop:${shop}`, `product:${id}`],
      load: (shop, _id, { tags }: LoadContext) => (tags('loaded'), shop),
    })
    const missing = { state: 'missing' }
    for (const tag of ['shop:north', 'product:7', 'loaded']) {
      expect(await product.get('north', 7)).toBe('north')
      await b.invalidateTags([tag])
      expect(await product.peek('north', 7)).toEqual(missing)
    }
    await product.set('north', 7, 'set')
    await b.invalidateTags(['product:8'])
    expect(await product.peek('north', 7)).toMatchObject({ value: 'set' })
    await b.invalidateTags(['product:7'])
    expect(await product.peek('north', 7)).toEqual(missing)
  })

  test('has the tags of its cache beside those that a function makes, from get and from set', async () => {
    const { a } = fleet({ tags: ['all'] })
    const product = a.define({ key: (id: number) => `${id}`, tags: (id) => [`product:${id}`], load: (id) => id })
    await product.get(1)
    await product.set(2, 2)
    for (const id of [1, 2]) expect((await a.explain(`${id}`)).value?.tags.toSorted()).toEqual(['all', `product:${id}`])
    await a.invalidateTags(['all'])
    expect([await product.peek(1), await product.peek(2)]).toEqual(Array(2).fill({ state: 'missing' }))
  })

  test('has the options of its calls, those of set among them', async () => {
    const { a, clock } = fleet()
    const product = a.define({ key: (id: number) => `${id}`, ttl: '5m', tags: ['t'], load: (id) => id })
    await product.get(1)
    await product.set(2, 3)
    await clock.advance(61_000)
    expect([await product.peek(1), await product.peek(2)]).toMatchObject([{ value: 1 }, { value: 3 }])
    await a.invalidateTags(['t'])
    expect([await product.peek(1), await product.peek(2)]).toEqual(Array(2).fill({ state: 'missing' }))
  })

  test('sets what does not exist for its negative ttl, as its loads do', async () => {
    const { a } = fleet()
    const product = a.define({ key: (id: number) => `${id}`, ttl: '5m', negativeTtl: '10s', load: (id): unknown => id })
    await product.set(1, null)
    await product.set(2, 2)
    expect([await product.peek(1), await product.peek(2)]).toMatchObject([{ ttl: 10_000 }, { ttl: 300_000 }])
  })

  test('gives its loader the context in its place, whatever arguments are left out', async () => {
    const { a } = fleet()
    const product = a.define({
      key: (id: number, locale?: string) => `${id}:${locale ?? 'en'}`,
      load: (id, locale, context) => [id, locale, context.key],
    })
    expect(await product.get(7)).toEqual([7, undefined, '7:en'])
    expect(await product.get(7, 'de')).toEqual([7, 'de', '7:de'])
    await product.set(7, 'fr', ['set'])
    expect(await product.get(7, 'fr')).toEqual(['set'])
  })

  test('refuses more arguments than its key has: the context would be taken for one of them', async () => {
    const { a } = fleet()
    const product = a.define({ key: (id: number) => `${id}`, load: (id) => id })
    const get = product.get as (...args: unknown[]) => Promise<number>
    const message = 'Expected no more arguments than `key` has parameters without defaults, which are 1, got 3'
    await expect(get(7, 0, [7])).rejects.toEqual(new TypeError(message))
    await expect((product.set as (...args: unknown[]) => Promise<void>)(7)).rejects.toThrow(
      'Expected the 1 arguments of `key` and a value, got 1 arguments',
    )
    expect(() => (product.keyOf as (...args: unknown[]) => string)(7, 0, [7])).toThrow(TypeError)
  })

  test.for<[string, unknown, string]>([
    ['it is no object', null, 'Expected the options of define to be an object, got null'],
    ['its key is a name', { key: 'product', load: () => 1 }, 'Expected `key` to be a function, got "product" (string)'],
    ['it has no loader', { key: () => 'k' }, 'Expected `load` to be a function, got undefined'],
    [
      'it has a signal',
      { key: () => 'k', load: () => 1, signal: AbortSignal.abort() },
      'Unknown option `signal` of define',
    ],
    ['its ttl is none', { key: () => 'k', load: () => 1, ttl: -1 }, 'Expected `ttl` to be'],
  ])('is refused at once if %s', ([, definition, message]) => {
    const { a } = fleet()
    expect(() => a.define(definition as Definition<[], number>)).toThrow(message)
  })

  test('rejects with the errors of the functions that make its key and its tags', async () => {
    const { a } = fleet()
    const keyless = a.define({ key: () => '', load: () => 1 })
    await expect(keyless.get()).rejects.toThrow(/^Expected a key to be/)
    const tagless = a.define({ key: () => 'k', tags: () => [''], load: () => 1 })
    await expect(tagless.get()).rejects.toThrow(/^Expected a tag to be/)
    // Each of its letters would be a tag.
    const text = a.define({ key: () => 'text', tags: () => 'user' as never, load: () => 1 })
    for (const call of [() => text.get(), () => text.set(1)]) {
      await expect(call()).rejects.toThrow('Expected `tags` to be an array of up to 64 tags, got "user" (string)')
    }
    await expect(a.wrap(async () => 1, { key: 'f', tags: () => 'user' as never })()).rejects.toThrow(TypeError)
  })
})

test('a wrapped function has a schema, and tags that are made of its arguments', async () => {
  const { a, b } = fleet()
  const product = a.wrap(async (id: number) => ({ id, name: 'Tea', secret: 'x' }), {
    key: 'product',
    schema,
    tags: (id) => [`product:${id}`],
  })
  expect(await product(7)).toEqual({ id: 7, name: 'Tea' })
  expect(await b.peek('product(7)')).toMatchObject({ value: { id: 7, name: 'Tea' } })
  await b.invalidateTags(['product:7'])
  expect(await product.peek(7)).toEqual({ state: 'missing' })
  await b.set('product(7)', 'none of it')
  expect(await product.peek(7)).toEqual({ state: 'missing' })
})
