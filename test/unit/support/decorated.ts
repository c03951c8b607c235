/** Classes with cached methods. Compiled with either kind of decorators by `decorator.test.ts`; imports nothing to run. */
import type { Cache, cached as Cached } from '../../../src/index.ts'

/** @returns the class, and what its methods were called with, `this` included */
export function decorated(cache: Cache, cached: typeof Cached) {
  const calls: unknown[][] = []

  class Users {
    readonly prefix: string

    constructor(prefix: string) {
      this.prefix = prefix
    }

    @cached(cache, { key: 'user', ttl: '5m' })
    async byId(id: number, locale?: string): Promise<string> {
      calls.push([this, id, locale])
      return `${this.prefix} ${id} ${locale}`
    }

    @cached(cache, { key: (name: string) => `user:${name.toLowerCase()}` })
    async byName(name: string): Promise<string> {
      calls.push([this, name])
      return name
    }

    @cached(cache, { key: 'latest' })
    static async latest(): Promise<string> {
      calls.push([this])
      return 'latest'
    }
  }

  class Admins extends Users {
    override async byId(id: number): Promise<string> {
      return `admin ${await super.byId(id)}`
    }
  }

  return { Users, Admins, calls }
}

/** @returns a class whose objects are given their cache, as by dependency injection, and what its method was called with */
export function injected(cached: typeof Cached) {
  const calls: unknown[][] = []

  class Products {
    readonly #cache: Cache | undefined

    constructor(cache?: Cache) {
      this.#cache = cache
    }

    @cached((self: Products) => self.#cache as Cache, { key: 'product', ttl: '5m' })
    async byId(id: number): Promise<string> {
      calls.push([this, id])
      return `product ${id}`
    }
  }

  return { Products, calls }
}
