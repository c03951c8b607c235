import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { Controller, Delete, Get, HttpCode, Inject, Module, Param } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Cache } from 'herdless'
import { CACHE, CacheModule } from './cache.module.js'
import { Catalogue } from './catalogue.js'
import { NotFoundFilter } from './not-found.js'

@Controller()
class Pages {
  constructor(
    private readonly catalogue: Catalogue,
    @Inject(CACHE) private readonly cache: Cache,
  ) {}

  @Get('products/:id')
  async product(@Param('id') id: string) {
    return await this.catalogue.product(id)
  }

  @Get('customers/:id')
  async customer(@Param('id') id: string) {
    return await this.catalogue.customer(id)
  }

  @Delete('products/:id')
  @HttpCode(204)
  async remove(@Param('id') id: string) {
    await this.catalogue.removeProduct(id)
  }

  @Get('stats')
  stats() {
    return this.cache.stats()
  }
}

@Module({ imports: [CacheModule], controllers: [Pages], providers: [Catalogue] })
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
  app.useGlobalFilters(new NotFoundFilter())
  app.enableShutdownHooks()
  await app.listen(0, '127.0.0.1')
  console.log(`listens on ${(app.getHttpServer().address() as AddressInfo).port}`)
}
void main()
