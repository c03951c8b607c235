/** A decorated method keeps its type, with standard decorators and with those of `experimentalDecorators`. */
import { cached, cachedMethod, createCache, type Cache } from 'herdless'

interface User {
  readonly id: number
  readonly name: string
}
const cache = createCache()

class Users {
  readonly #names = new Map([[42, 'Ada']])

  @cached(cache, { key: 'user', ttl: '5m' })
  async byId(id: number, locale?: string): Promise<User> {
    return { id, name: `${this.#names.get(id)} ${locale}` }
  }

  @cached(cache, { key: (name: string) => `user:${name.toLowerCase()}` })
  async byName(name: string): Promise<User[]> {
    return [{ id: 42, name }]
  }

  @cached(cache, { key: 'latest' })
  static async latest(count: number): Promise<User[]> {
    return [{ id: count, name: 'Ada' }]
  }

  @cached(cache, { key: 'same' })
  same<T>(value: T): Promise<T> {
    return Promise.resolve(value)
  }

  // @ts-expect-error: its callers would be given a promise
  @cached(cache, { key: 'count' })
  count(): number {
    return this.#names.size
  }

  // @ts-expect-error: the key is made of a number
  @cached(cache, { key: (id: number) => `user:${id}` })
  async remove(name: string): Promise<void> {
    console.log(name)
  }

  async forget(id: number): Promise<void> {
    await cachedMethod(this, 'byId').invalidate(id)
  }
}

const users = new Users()
const user: User = await users.byId(42, 'de')
const latest: User[] = await Users.latest(3)
const letter: 'a' = await users.same('a' as const)
console.log(user, latest, letter)

const methods = cachedMethod(users, 'byId')
const key: string = methods.keyOf(42, 'de')
const refreshed: User = await methods.refresh(42)
const peeked = await methods.peek(42)
if (peeked.state !== 'missing') console.log(peeked.value.name)
await cachedMethod(Users, 'latest').invalidate(3)
console.log(key, refreshed)
// @ts-expect-error: an id is a number
await methods.invalidate('42')
// @ts-expect-error: there is no such method
cachedMethod(users, 'byEmail')

// An object that is given its cache later is asked for it; without a type it is one with the property `cache`.
class Products {
  constructor(
    readonly cache: Cache,
    private readonly prices: Cache,
  ) {}

  @cached((self) => self.cache, { key: 'product' })
  async byId(id: number): Promise<User> {
    return { id, name: 'socks' }
  }

  @cached((self: Products) => self.prices, { key: (id: number) => `price:${id}`, ttl: '5m' })
  async price(id: number): Promise<number> {
    return id
  }

  // @ts-expect-error: it returns no cache
  @cached((self: Products) => self.prices.stats(), { key: 'wrong' })
  async wrong(): Promise<void> {}

  // @ts-expect-error: there is no such property
  @cached((self) => self.store, { key: 'other' })
  async other(): Promise<void> {}
}
const products = new Products(cache, cache)
const product: User = await products.byId(1)
const price: number = await cachedMethod(products, 'price').refresh(1)
console.log(product, price)
