import { randomUUID } from 'node:crypto'
import { type as arktype } from 'arktype'
import { Redis } from 'ioredis'
import * as valibot from 'valibot'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { createCache, type Cache, type CacheOptions, type Schema } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'

const clients: Redis[] = []
const caches: Cache[] = []

afterAll(async () => {
  await Promise.all(caches.map((cache) => cache.close()))
  for (const client of clients) client.disconnect()
})

/** A process, as it were, of a deployment. */
function processOf(namespace: string, options: CacheOptions = {}): Cache {
  const client = new Redis(inject('redisUrl'))
  const cache = createCache({ store: redisStore(client), namespace, ttl: '1m', commandTimeout: '30s', ...options })
  clients.push(client)
  caches.push(cache)
  return cache
}

describe('on Redis, two deployments with different versions', () => {
  const old = z.object({ price: z.string() })
  const young = z.object({ cents: z.number() })

  test.for([{}, { near: {} }])('live side by side, and hear of the invalidations of each other: %o', async (near) => {
    const namespace = `versions-${randomUUID()}`
    const before = [1, 2].map(() => processOf(namespace, { version: 1, ...near }))
    const after = [1, 2].map(() => processOf(namespace, { version: 2, ...near }))
    let [loads, row] = [0, 1]
    const ask = (): Promise<unknown[]> =>
      Promise.all([
        ...before.map((cache) =>
          cache.getOrLoad('product:7', () => (loads++, { price: `0.0${row}` }), { schema: old, ttl: '1h' }),
        ),
        ...after.map((cache) => cache.getOrLoad('product:7', () => (loads++, { cents: row }), { schema: young })),
      ])
    const answers = (of: number): object[] => [
      ...before.map(() => ({ price: `0.0${of}` })),
      ...after.map(() => ({ cents: of })),
    ]
    expect(await ask()).toEqual(answers(1))
    expect(await ask()).toEqual(answers(1))
    expect(loads).toBe(2)
    for (const [index, cache] of [...before, ...after].entries()) {
      row = index + 2
      await cache.invalidate('product:7')
      expect(await ask()).toEqual(answers(row))
      expect(await ask()).toEqual(answers(row))
      expect(loads).toBe(2 * row)
    }
    expect([...before, ...after].map((cache) => cache.stats().garbage)).toEqual([0, 0, 0, 0])
    const names = await (clients[0] as Redis).keys(`*${namespace}:*product:7}`)
    expect(names.toSorted()).toEqual([`{${namespace}:^1=product:7}`, `{${namespace}:^2=product:7}`])
  })

  test('migrate a value once, with its tags, under the lease of its key', async () => {
    const namespace = `versions-${randomUUID()}`
    const before = processOf(namespace, { version: 1 })
    const after = [1, 2, 3].map(() => processOf(namespace, { version: 2 }))
    await before.getOrLoad('product:7', () => ({ price: '19.99' }), { tags: ['product'] })
    let [migrations, loads] = [0, 0]
    const migrate = {
      1: (value: unknown) => (migrations++, { cents: Math.round(Number(old.parse(value).price) * 100) }),
    }
    const ask = (): Promise<unknown[]> =>
      Promise.all(
        after.map((cache) => cache.getOrLoad('product:7', () => (loads++, { cents: 1 }), { schema: young, migrate })),
      )
    expect(await ask()).toEqual(Array(3).fill({ cents: 1999 }))
    expect([migrations, loads]).toEqual([1, 0])
    await before.invalidateTags(['product'])
    expect(await ask()).toEqual(Array(3).fill({ cents: 1 }))
    expect([migrations, loads]).toEqual([1, 1])
  })
})

describe.for<[string, Schema<{ id: number }>]>([
  ['zod', z.object({ id: z.number() })],
  ['Valibot', valibot.object({ id: valibot.number() })],
  ['ArkType', arktype({ id: 'number' })],
])('on Redis, with a schema of %s', ([, schema]) => {
  test('a value of another deployment that does not pass is loaded again, once for the fleet', async () => {
    const namespace = `schema-${randomUUID()}`
    const careless = processOf(namespace)
    const careful = [1, 2, 3].map(() => processOf(namespace))
    await careless.set('k', { id: '7' })
    let loads = 0
    const answers = await Promise.all(
      careful.flatMap((cache) =>
        [1, 2, 3].map(() => cache.getOrLoad('k', async () => (loads++, { id: 7 }), { schema })),
      ),
    )
    expect(answers).toEqual(Array(9).fill({ id: 7 }))
    expect(loads).toBe(1)
    expect(await careless.peek('k')).toMatchObject({ state: 'fresh', value: { id: 7 } })
  })

  test('the error of a loaded value reaches all processes, without the value', async () => {
    const namespace = `schema-${randomUUID()}`
    const [one, other] = [processOf(namespace), processOf(namespace)]
    const load = () => ({ id: 'hunter2' as unknown as number })
    for (const cache of [one, other]) {
      const error = await cache.getOrLoad('k', load, { schema }).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({
        code: 'VALUE_INVALID',
        message: expect.stringMatching(
          /^The value of "k" is refused: It does not pass its schema: id \(expected (a )?number\)$/,
        ) as string,
        cause: { name: 'SchemaError' },
      })
    }
    expect(other.stats().loads).toBe(0)
    const said = await (clients[0] as Redis).hgetall(`{${namespace}:k}:lease`)
    expect(JSON.stringify(said)).toContain('VALUE_INVALID')
    expect(JSON.stringify(said)).not.toContain('hunter2')
  })
})
