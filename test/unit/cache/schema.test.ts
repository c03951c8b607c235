import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CacheError, createCache, type NearOptions, type Schema } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, asked, pending, valued, type Answer } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'
import { counted, products } from '../support/schemas.ts'
import { Source, throwing } from '../support/source.ts'

const product = z.object({ id: z.number(), name: z.string() })
const tea = { id: 7, name: 'Tea' }

describe.for(products)('a stored value that does not pass a schema of %s', ([, schema]) => {
  test('counts as missing, is reported, and is loaded again by one caller of the fleet', async () => {
    const { a, b, c } = fleet({ grace: '1h' })
    const garbage = [b, c].map((cache) => told(cache, 'garbage'))
    await a.set('product:7', { id: '7', name: 'Tea' })
    const source = new Source<typeof tea>()
    const answers = await allAsked([b, b, c, c].map((cache) => cache.getOrLoad('product:7', source.loader, { schema })))
    expect(source.runs).toHaveLength(1)
    expect(source.run(0).context.stale).toBe(null)
    expect(answers).toEqual(Array(4).fill(pending))
    await source.resolve(0, tea)
    expect(answers).toEqual(Array(4).fill(valued(tea)))
    expect(garbage).toEqual([
      [{ key: 'product:7', cause: expect.objectContaining({ name: 'SchemaError' }) }],
      [{ key: 'product:7', cause: expect.objectContaining({ name: 'SchemaError' }) }],
    ])
    expect(garbage[0]?.[0]?.cause).toMatchObject({
      message: expect.stringMatching(/^It does not pass its schema: id \(expected (a )?number\)$/) as string,
    })
    expect([b.stats().garbage, c.stats().garbage, a.stats().garbage]).toEqual([1, 1, 0])
    expect(await a.peek('product:7')).toMatchObject({ state: 'fresh', value: tea })
  })

  test('is loaded by the caller whom its loader told of it, if it waited without knowing', async () => {
    const { a, b } = fleet()
    const [careless, careful] = [new Source(), new Source<typeof tea>()]
    const first = await asked(a.getOrLoad('k', careless.loader))
    const second = await asked(b.getOrLoad('k', careful.loader, { schema }))
    await careless.resolve(0, { id: 7 })
    expect(first).toEqual({ state: 'value', value: { id: 7 } })
    expect(second).toEqual(pending)
    await careful.resolve(0, tea)
    expect(second).toEqual(valued(tea))
  })

  test('is not served stale, neither during a refresh nor instead of an error', async () => {
    const { a, b, clock } = fleet({ ttl: '1s', grace: '1h' })
    await a.set('k', { id: 7 })
    await clock.advance(2_000)
    await expect(b.getOrLoad('k', throwing(new Error('down')), { schema })).rejects.toThrow('down')
  })

  test('is a value that a peek does not find', async () => {
    const { a, b } = fleet()
    await a.set('k', { id: 7 })
    expect(await b.peek('k', { schema })).toEqual({ state: 'missing' })
    expect(await b.peek('k')).toMatchObject({ value: { id: 7 } })
  })
})

describe.for(products)('a loaded value that a schema of %s checks', ([, schema]) => {
  test('is given and stored without what the schema drops', async () => {
    const { a, b } = fleet()
    const load = () => ({ ...tea, secret: 'x' })
    expect(await a.getOrLoad('k', load, { schema })).toEqual(tea)
    expect(await b.getOrLoad('k', load)).toEqual(tea)
  })

  test('must pass: else its error is that of all callers, and nothing is stored', async () => {
    const { a, b, all } = fleet()
    let loads = 0
    const load = (): typeof tea => (loads++, { id: 7, name: ['hunter2'] as unknown as string })
    const errors = await Promise.all(
      [a, a, b].map((cache) => cache.getOrLoad('k', load, { schema }).catch((error: unknown) => error)),
    )
    const message = expect.stringMatching(
      /^The value of "k" is refused: It does not pass its schema: name \(expected (a )?string\)$/,
    ) as string
    for (const error of errors) {
      expect(error).toBeInstanceOf(CacheError)
      expect(error).toMatchObject({ code: 'VALUE_INVALID', key: 'k', message, cause: { name: 'SchemaError' } })
      expect(JSON.stringify((error as CacheError).cause)).not.toContain('hunter2')
    }
    expect(loads).toBe(1)
    const { issues } = (errors[0] as CacheError).cause as { issues: readonly { message: string }[] }
    expect(issues).toHaveLength(1)
    for (const cache of all) expect(await cache.peek('k')).toEqual({ state: 'missing' })
  })
})

describe('a value with a schema', () => {
  test('gains what the schema adds, however old it is', async () => {
    const { a, b } = fleet()
    const schema = z.object({ id: z.number(), currency: z.string().default('EUR') })
    await a.set('k', { id: 7 })
    expect(await b.getOrLoad('k', () => ({ id: 8 }), { schema })).toEqual({ id: 7, currency: 'EUR' })
    await b.set('l', { id: 9 }, { schema })
    expect(await a.peek('l')).toMatchObject({ value: { id: 9, currency: 'EUR' } })
  })

  test('is refused by set, and the old one stays', async () => {
    const { a, b } = fleet()
    await a.set('k', tea, { schema: product })
    await expect(a.set('k', { id: 7 }, { schema: product })).rejects.toMatchObject({ code: 'VALUE_INVALID', key: 'k' })
    expect(await b.peek('k')).toMatchObject({ value: tea })
  })

  test('is checked by refresh and by getOrLoadMany, each key for itself', async () => {
    const { a } = fleet()
    await a.set('bad', { id: 1 })
    await a.set('good', tea)
    const loadMany = (keys: readonly string[]): (typeof tea)[] =>
      keys.map((key) => (key === 'worse' ? ({ id: 2 } as typeof tea) : tea))
    const found = await a.getOrLoadMany(['bad', 'good', 'worse'], loadMany, { schema: product })
    expect(found).toEqual([tea, tea, expect.objectContaining({ code: 'VALUE_INVALID' })])
    await expect(a.refresh('good', () => ({ id: 3 }) as typeof tea, { schema: product })).rejects.toMatchObject({
      code: 'VALUE_INVALID',
    })
    expect(await a.peek('good')).toMatchObject({ value: tea })
  })

  test('may be an error that is an answer, which no schema checks', async () => {
    const { a, b } = fleet({ errorKind: () => 'answer' })
    const load = throwing(new Error('not found'))
    await expect(a.getOrLoad('k', load, { schema: product })).rejects.toThrow('not found')
    await expect(b.getOrLoad('k', () => tea, { schema: product })).rejects.toThrow('not found')
    expect(b.stats()).toMatchObject({ loads: 0, garbage: 0 })
  })

  test('is checked again when the source has not modified it', async () => {
    const { a, clock } = fleet({ ttl: '1s', grace: '1h' })
    await a.set('k', { ...tea, more: 1 })
    await clock.advance(2_000)
    expect(await a.refresh('k', ({ notModified }) => notModified<typeof tea>(), { schema: product })).toEqual(tea)
    expect(await a.peek('k')).toMatchObject({ state: 'fresh', value: tea })
  })

  test('is one that an observing cache checks, too', async () => {
    const cache = createCache({ mode: 'observe' })
    expect(await cache.getOrLoad('k', () => ({ ...tea, more: 1 }), { schema: product })).toEqual(tea)
    await expect(cache.getOrLoad('k', () => ({ id: 7 }) as typeof tea, { schema: product })).rejects.toMatchObject({
      code: 'VALUE_INVALID',
    })
    await cache.set('l', tea, { schema: product })
    expect(cache.stats()).toMatchObject({ garbage: 0, failures: 0 })
    await cache.close()
  })
})

describe('a schema that cannot be used', () => {
  test.for([null, 5, {}, { '~standard': {} }, { '~standard': { version: 2, validate: () => ({ value: 1 }) } }])(
    'is refused at once: %o',
    async (bad) => {
      const { a } = fleet()
      const schema = bad as unknown as Schema
      const expected = /^Expected `schema` to be a Standard Schema, such as one of zod 4, got /
      await expect(a.getOrLoad('k', () => 1, { schema })).rejects.toThrow(expected)
      await expect(a.peek('k', { schema })).rejects.toThrow(expected)
      await expect(a.set('k', 1, { schema })).rejects.toThrow(expected)
      expect(() => a.wrap(() => 1, { key: 'f', schema })).toThrow(expected)
    },
  )

  test('because it is asynchronous, fails the load, and makes no stored value count', async () => {
    const { a, b } = fleet()
    const schema = z.string().refine(async () => true)
    await a.set('k', 'v')
    const expected = new TypeError('Expected `schema` to validate synchronously, but it returned a promise')
    await expect(b.getOrLoad('k', () => 'w', { schema: asynchronous })).rejects.toEqual(expected)
    await expect(b.set('k', 'w', { schema: asynchronous })).rejects.toEqual(expected)
    expect(b.stats().garbage).toBe(1)
    expect(await a.peek('k')).toMatchObject({ value: 'v' })
    // zod itself throws where its schema turns out to be asynchronous, or returns a promise.
    await expect(b.getOrLoad('l', () => 'w', { schema })).rejects.toThrow(TypeError)
  })

  test.for<[string, unknown, Schema]>([
    ['another type', '1', z.string().transform(Number)],
    ['another value', 1, z.number().transform((n) => n * 2)],
  ])('because it makes %s of its own output, fails the first load, and stores nothing', async ([, value, schema]) => {
    const { a, b } = fleet()
    const error = await a.getOrLoad('k', () => value, { schema }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TypeError)
    expect((error as TypeError).message).toMatch(/^Expected `schema` to leave its own output as it is/)
    expect(await b.peek('k')).toEqual({ state: 'missing' })
  })

  test('because it throws, fails the load with what it throws', async () => {
    const { a } = fleet()
    const error = new Error('broken')
    const schema: Schema<string> = { '~standard': { version: 1, validate: throwing(error) } }
    await expect(a.getOrLoad('k', () => 'v', { schema })).rejects.toBe(error)
  })
})

const asynchronous: Schema<string> = {
  '~standard': { version: 1, validate: async () => ({ value: 'v' }) },
}

describe('a check', () => {
  const dated = z.object({ id: z.number(), at: z.date(), note: z.string().default('-') })

  test('is one for all callers of a tick, who share the read', async () => {
    const { a, b } = fleet({ near: { ttl: '1ms' } })
    await a.set('k', tea)
    const count = counted(product)
    await Promise.all(Array.from({ length: 10 }, () => b.getOrLoad('k', () => tea, { schema: count.schema })))
    expect(count.validations).toBe(1)
  })

  test.for<[string, NearOptions, Schema, object]>([
    ['frozen', {}, product, tea],
    ['cloned', { values: 'cloned' }, product, tea],
    ['shared', { values: 'shared' }, product, tea],
    ['decoded each time', {}, dated, { id: 7, at: new Date(0) }],
  ])('is not made of a near copy that is %s', async ([, near, schema, value]) => {
    const { a, b } = fleet({ near })
    await a.set('k', value)
    const count = counted(schema)
    const get = () => b.getOrLoad('k', () => value, { schema: count.schema })
    const expected = (schema['~standard'].validate(value) as { value: unknown }).value
    for (let hits = 0; hits < 5; hits++) expect(await get()).toEqual(expected)
    expect(b.stats()).toMatchObject({ hits: 5, nearHits: 4, loads: 0 })
    expect(count.validations).toBe(1)
  })

  test('is not made of a copy that stands in while the store is away, nor of one of a load without it', async () => {
    const { a, ways, clock } = fleet({ near: { ttl: '1h' }, ttl: '1h' })
    const count = counted(dated)
    const get = (key: string) => a.getOrLoad(key, () => ({ id: 7, at: new Date(0) }), { schema: count.schema })
    await get('k')
    await get('k')
    const before = count.validations
    ways.a.mode = 'failing'
    const first = await asked(get('l'))
    await clock.advance(1_000)
    await settled()
    expect(first).toMatchObject({ state: 'value', value: { id: 7, note: '-' } })
    const loaded = count.validations
    expect(loaded).toBe(before + 2)
    expect(await get('l')).toEqual({ id: 7, at: new Date(0), note: '-' })
    expect(await get('k')).toEqual({ id: 7, at: new Date(0), note: '-' })
    expect(count.validations).toBe(loaded)
  })
})

describe('calls of one key with different schemas', () => {
  const named = z.object({ name: z.string() })

  test('are each given what their own schema made, from one store', async () => {
    const { a, b } = fleet({ near: {} })
    await a.set('k', tea)
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all([
        b.getOrLoad('k', () => tea, { schema: named }),
        b.getOrLoad('k', () => tea, { schema: product }),
        b.getOrLoad('k', () => tea),
      ])
      expect(answers).toEqual([{ name: 'Tea' }, tea, tea])
    }
    expect(b.stats().loads).toBe(0)
  })

  test('are not given the near copies of each other, also while the store is away', async () => {
    const { a, b, ways, clock } = fleet({ near: { ttl: '1h' }, ttl: '1h' })
    await a.set('k', tea)
    for (let round = 0; round < 2; round++) {
      expect(await b.getOrLoad('k', () => tea, { schema: product })).toEqual(tea)
      expect(await b.getOrLoad('k', () => tea, { schema: product })).toEqual(tea)
      expect(await b.getOrLoad('k', () => tea, { schema: named })).toEqual({ name: 'Tea' })
    }
    expect(b.stats()).toMatchObject({ hits: 6, nearHits: 2, loads: 0 })
    ways.b.mode = 'failing'
    const answer = await asked(b.getOrLoad('k', () => ({ id: 8, name: 'Loaded' }), { schema: product }))
    await clock.advance(1_000)
    expect(answer).toEqual({ state: 'value', value: { id: 8, name: 'Loaded' } })
  })

  test('do not join each other: the load of one is awaited by the other, and checked', async () => {
    const { a } = fleet()
    const [one, other] = [new Source<typeof tea>(), new Source<typeof tea>()]
    const first = await asked(a.getOrLoad('k', one.loader, { schema: product }))
    const second = await asked(a.getOrLoad('k', other.loader, { schema: named }))
    await one.resolve(0, tea)
    expect(first).toEqual(valued(tea))
    expect(second).toEqual({ state: 'value', value: { name: 'Tea' } })
    expect(other.runs).toHaveLength(0)
  })

  test('do not share a load without the store', async () => {
    const { a, ways } = fleet({ bridge: 0 })
    ways.a.mode = 'failing'
    const source = new Source<typeof tea>()
    const ask = (schema: Schema): Promise<Answer<unknown>> => asked(a.getOrLoad('k', source.loader, { schema }))
    // The last two wait for the next load together.
    const answers = [await ask(product), await ask(product), await ask(named)]
    for (const index of [0, 1, 2]) await source.resolve(index, tea)
    expect(answers).toEqual([valued(tea), valued(tea), { state: 'value', value: { name: 'Tea' } }])
  })
})
