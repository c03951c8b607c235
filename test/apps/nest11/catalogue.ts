import { Inject, Injectable } from '@nestjs/common'
import { cached, cachedMethod, type Cache } from 'herdless'
import { CACHE } from './cache.module.js'
import { NotFoundError } from './not-found.js'

export interface Item {
  readonly id: number
  readonly name: string
}

/** The service that knows all products and customers, behind a cache. */
@Injectable()
export class Catalogue {
  constructor(@Inject(CACHE) private readonly cache: Cache) {}

  @cached((self: Catalogue) => self.cache, {
    key: 'product',
    ttl: '1s',
    grace: '10m',
    negativeTtl: '10s',
    errorKind: (error) => (error instanceof NotFoundError ? 'answer' : 'failure'),
  })
  async product(id: string): Promise<Item> {
    return await this.found(`products/${id}`)
  }

  @cached((self: Catalogue) => self.cache, { key: 'customer', failureCooldown: '10s' })
  async customer(id: string): Promise<Item> {
    return await this.found(`customers/${id}`)
  }

  async removeProduct(id: string): Promise<void> {
    await fetch(`${process.env.CATALOGUE_URL}/removed/${id}`)
    await cachedMethod(this, 'product').invalidate(id)
  }

  private async found(path: string): Promise<Item> {
    const response = await fetch(`${process.env.CATALOGUE_URL}/${path}`)
    if (!response.ok) throw new NotFoundError(`There is no ${path}`)
    return (await response.json()) as Item
  }
}
