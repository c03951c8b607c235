import { Cache, CacheInterceptor, CacheKey, CacheTTL } from '@nestjs/cache-manager'
import { Body, Controller, Delete, type ExecutionContext, Get, Inject, Injectable, Param, Post } from '@nestjs/common'
import { UseInterceptors } from '@nestjs/common'
import { ask, Catalogue } from './catalogue.js'

/** A key of its own, and none for a preview. */
@Injectable()
class PathInterceptor extends CacheInterceptor {
  protected override trackBy(context: ExecutionContext): string | undefined {
    const { path, query } = context.switchToHttp().getRequest()
    return query.preview === undefined ? `page ${path}` : undefined
  }
}

@Controller('pages')
@UseInterceptors(PathInterceptor)
export class Pages {
  @Get(':id')
  async page(@Param('id') id: string): Promise<unknown> {
    return { answer: await ask(`page-${id}`) }
  }
}

@Controller('named')
@UseInterceptors(CacheInterceptor)
@CacheTTL(0)
export class Named {
  @Get('all')
  @CacheKey('all')
  async all(): Promise<unknown> {
    return { answer: await ask('all') }
  }

  @Get('soon')
  @CacheKey(() => 'soon')
  @CacheTTL(() => 5_000)
  async soon(): Promise<unknown> {
    return { answer: await ask('soon') }
  }
}

/** All calls of a cache manager, by their names. The class is a token, too. */
@Controller()
export class Calls {
  constructor(
    @Inject(Cache) private readonly cache: Cache,
    @Inject(Catalogue) private readonly catalogue: Catalogue,
  ) {}

  @Post('calls/:name')
  async call(@Param('name') name: 'get', @Body() args: [string]): Promise<unknown> {
    return { result: await this.cache[name](...args) }
  }

  @Get('products/:id')
  product(@Param('id') id: string): Promise<unknown> {
    return this.catalogue.product(id)
  }

  @Delete('products/:id')
  async rename(@Param('id') id: string): Promise<void> {
    await this.catalogue.rename(id)
  }

  @Get('stock/:id')
  stock(@Param('id') id: string): Promise<unknown> {
    return this.catalogue.stock(id)
  }

  @Get('prices/:id')
  async price(@Param('id') id: string): Promise<unknown> {
    return { answer: await this.catalogue.price(id) }
  }
}
