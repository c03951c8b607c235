import { CACHE_MANAGER, type Cache } from '@nestjs/cache-manager'
import { Inject, Injectable } from '@nestjs/common'

/** What the source says: it counts how often it is asked, and answers when it is let. */
export async function ask(what: string): Promise<string> {
  return await (await fetch(`${process.env.SOURCE_URL}/${what}`)).text()
}

/** An entity, as an ORM makes it. */
class Product {
  readonly at = new Date(0)
  constructor(readonly text: string) {}
}

@Injectable()
export class Catalogue {
  constructor(@Inject(CACHE_MANAGER) private readonly cache: Cache) {}

  /** By a function that is wrapped. */
  product(id: string): Promise<Product> {
    return this.cache.wrap(`product:${id}`, async () => new Product(await ask(`product-${id}`)), 60_000)
  }

  /** By a get and a set. */
  async stock(id: string): Promise<Product> {
    const known = await this.cache.get<Product>(`stock:${id}`)
    if (known !== undefined) return known
    return await this.cache.set(`stock:${id}`, new Product(await ask(`stock-${id}`)), 60_000)
  }

  /** Loaded anew by whoever asks for it, because its whole ttl is within the threshold. */
  async price(id: string): Promise<string> {
    return await this.cache.wrap(
      `price:${id}`,
      () => ask(`price-${id}`),
      () => 60_000,
      60_001,
    )
  }

  async rename(id: string): Promise<void> {
    await this.cache.del(`product:${id}`)
  }
}
