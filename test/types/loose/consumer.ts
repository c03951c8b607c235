/**
 * What a user may write whose compiler has `"strict": false`, as that of Next has where a project has no tsconfig: values
 * keep their types.
 */
import { cached, createCache, type CallOptions, type Defined } from 'herdless'
import { cacheResponses } from 'herdless/express'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'
import * as valibot from 'valibot'
import { z } from 'zod'

/** Whether two types are the same, and not only assignable. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(is: Same<A, B>): boolean => is

interface Product {
  id: number
  name: string
}
const load = async (id: number): Promise<Product> => ({ id, name: String(id) })
const cache = createCache({ store: redisStore(new Redis()), namespace: 'shop', ttl: '5m' })

const got = await cache.getOrLoad('p:1', () => load(1))
same<typeof got, Product>(true)
const optioned = await cache.getOrLoad('p:1', () => load(1), { ttl: '1m', tags: ['products'] })
same<typeof optioned, Product>(true)
const settings: CallOptions = { ttl: '1m' }
const settled = await cache.getOrLoad('p:1', ({ key }) => key.length, settings)
same<typeof settled, number>(true)
const said = await cache.getOrLoad<Product>('p:1', () => load(1))
same<typeof said, Product>(true)
const refreshed = await cache.refresh('p:1', () => load(1))
same<typeof refreshed, Product>(true)
const refreshedAs = await cache.refresh<Product>('p:1', () => load(1), { ttl: '1m' })
same<typeof refreshedAs, Product>(true)
const many = await cache.getOrLoadMany(['p:1'], (keys) => Promise.all(keys.map((key) => load(key.length))))
same<(typeof many)[number], Product | Error>(true)
const manyAs = await cache.getOrLoadMany<Product>(['p:1'], async () => [])
same<(typeof manyAs)[number], Product | Error>(true)
const peeked = await cache.peek<Product>('p:1')
if (peeked.state === 'fresh') same<typeof peeked.value, Product>(true)
// @ts-expect-error: a product is no text
const wrong: string = await cache.getOrLoad('p:1', () => load(1))

const byId = cache.wrap(load, { key: 'product', tags: (id) => [id.toFixed()] })
const wrapped = await byId(1)
same<typeof wrapped, Product>(true)
const anew = await byId.refresh(1)
same<typeof anew, Product>(true)
const plain = cache.define({ key: (id: number) => `p:${id}`, load: (id) => load(id) })
same<typeof plain, Defined<[id: number], Product, Product>>(true)
const defined = await plain.get(1)
same<typeof defined, Product>(true)
await plain.set(1, { id: 1, name: 'one' })
// @ts-expect-error: an id is a number
await plain.get('1')

const zodProduct = z.object({ id: z.number(), name: z.string().default('') })
const valibotProduct = valibot.object({ id: valibot.number(), name: valibot.string() })
const ofZod = await cache.getOrLoad('p:1', async () => ({ id: 1, more: true }), { schema: zodProduct })
same<(typeof ofZod)['name'], string>(true)
const ofValibot = await cache.refresh('p:1', () => load(1), { schema: valibotProduct })
same<typeof ofValibot, Product>(true)
const checked = cache.define({ key: (id: number) => `p:${id}`, schema: zodProduct, load: (id) => ({ id }) })
const { name } = await checked.get(1)
same<typeof name, string>(true)
// @ts-expect-error: the loader gives what the schema does not take
await cache.getOrLoad('p:1', async () => ({ id: 'one' }), { schema: zodProduct })

export class Products {
  @cached(cache, { key: 'products.byId' })
  async byId(id: number): Promise<Product> {
    return load(id)
  }
}
console.log(wrong, cacheResponses(cache, { ttl: '1m' }))
