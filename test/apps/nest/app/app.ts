import { Controller, Delete, Get, Inject, Injectable, Module } from '@nestjs/common'
import type { CanActivate, ExecutionContext } from '@nestjs/common'
import { NotFoundException, Param, Post, Req, Res, Scope, UseGuards, UseInterceptors } from '@nestjs/common'
import type { HerdlessCache } from 'herdless'
import { CACHE_MANAGER, type Cache, Cached, CacheFor, CacheInterceptor, CacheKey, CacheTTL } from 'herdless/nest'
import { HerdlessHealth, HerdlessModule, InjectCache, Invalidates } from 'herdless/nest'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const productKey = (id: string): string => `product:${id}`

/** What the source says: it counts how often it is asked, and answers when it is let. */
async function ask(what: string): Promise<string> {
  return await (await fetch(`${process.env.SOURCE_URL}/${what}`)).text()
}

@Injectable(process.env.SCOPED === 'yes' ? { scope: Scope.REQUEST } : {})
class Catalogue {
  constructor(@Inject(CACHE_MANAGER) private readonly manager: Cache) {}

  @Cached({ key: productKey, ttl: '5m' })
  async product(id: string): Promise<string> {
    if (id === 'none') throw new NotFoundException('No such product')
    return await ask(`product-${id}`)
  }

  @Invalidates({ keys: productKey })
  async change(id: string, fails: boolean): Promise<void> {
    if (fails) throw new NotFoundException(`Nothing to change: ${id}`)
  }

  @Cached({ cache: 'prices', key: 'price', ttl: '5m' })
  async price(id: string): Promise<string> {
    return await ask(`price-${id}`)
  }

  async managed(id: string): Promise<string> {
    return await this.manager.wrap(`managed:${id}`, () => ask(`managed-${id}`), 60_000)
  }
}

/** Made by a factory, into which Nest injects nothing by itself. */
class Stock {
  @Cached({ key: 'stock' })
  async of(id: string): Promise<string> {
    return await ask(`stock-${id}`)
  }
}

/** Who asks is said by a field that no cache knows. */
@Injectable()
class Guard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest()
    const name = request.headers['x-user']
    if (name === 'nobody') return false
    if (name !== undefined) request.user = { name }
    return true
  }
}

interface Asked {
  readonly user?: { readonly name: string }
}

@Controller()
@UseGuards(Guard)
class Pages {
  constructor(
    private readonly catalogue: Catalogue,
    private readonly stock: Stock,
    @Inject(HerdlessHealth) private readonly health: HerdlessHealth,
    @InjectCache() private readonly cache: HerdlessCache,
    @InjectCache('prices') private readonly prices: HerdlessCache,
  ) {}

  @Get('product/:id')
  product(@Param('id') id: string): Promise<string> {
    return this.catalogue.product(id)
  }

  // Above the route, whose metadata it takes over.
  @Invalidates({ cache: 'prices', tags: ['prices'] })
  @Delete('product/:id')
  async change(@Param('id') id: string): Promise<string> {
    await this.catalogue.change(id, id === 'fails').catch(() => {})
    return 'changed'
  }

  @Get('price/:id')
  price(@Param('id') id: string): Promise<string> {
    return this.catalogue.price(id)
  }

  @Get('managed/:id')
  managed(@Param('id') id: string): Promise<string> {
    return this.catalogue.managed(id)
  }

  @Get('stock/:id')
  inStock(@Param('id') id: string): Promise<string> {
    return this.stock.of(id)
  }

  @Get('health')
  async state(): Promise<unknown> {
    return [await this.health.isHealthy('cache'), await this.health.isHealthy('prices', this.prices)]
  }

  @Get('stats')
  stats(): unknown {
    return this.cache.stats()
  }
}

@Controller('pages')
@UseGuards(Guard)
@UseInterceptors(CacheInterceptor)
@CacheTTL(300_000)
class Answers {
  /** For each user apart, by nobody's word. */
  @Get('careless')
  async careless(@Req() request: Asked): Promise<unknown> {
    return { for: request.user?.name ?? 'all', answer: await ask('careless') }
  }

  @Get('own')
  @CacheFor((request: Asked) => request.user?.name)
  async own(@Req() request: Asked): Promise<unknown> {
    return { for: request.user?.name, answer: await ask(`own-${request.user?.name}`) }
  }

  @Get('named/:id')
  @CacheKey('named')
  @CacheFor(() => 'all')
  async named(): Promise<unknown> {
    return { answer: await ask('named') }
  }

  @Get('head')
  async head(@Res({ passthrough: true }) response: { header(name: string, value: string): unknown }): Promise<unknown> {
    response.header('Set-Cookie', 'a=b')
    return { answer: await ask('head') }
  }

  @Get('missing')
  async missing(): Promise<unknown> {
    throw new NotFoundException(await ask('missing'))
  }
}

const [ttl, grace] = [Number(process.env.TTL ?? 60_000), Number(process.env.GRACE ?? 0)]

@Injectable()
class Behind {
  constructor(@Inject(CACHE_MANAGER) private readonly manager: Cache) {}

  @Cached({ key: (id: string) => `cached:${id}`, ttl, grace })
  async cached(id: string): Promise<string> {
    return await ask(id)
  }

  @Invalidates({ keys: (id: string) => [`cached:${id}`, `answer:${id}`] })
  async change(id: string): Promise<void> {
    await this.manager.del(`managed:${id}`)
  }

  async managed(id: string): Promise<string> {
    return await this.manager.wrap(`managed:${id}`, () => ask(id), ttl)
  }
}

/** A value behind each door. */
@Controller('doors')
class Doors {
  constructor(private readonly behind: Behind) {}

  @Get('cached/:id')
  cached(@Param('id') id: string): Promise<string> {
    return this.behind.cached(id)
  }

  @Get('managed/:id')
  managed(@Param('id') id: string): Promise<string> {
    return this.behind.managed(id)
  }

  @Get('answers/:id')
  @UseInterceptors(CacheInterceptor)
  @CacheKey((context: ExecutionContext) => `answer:${context.switchToHttp().getRequest().params.id}`)
  @CacheTTL(ttl)
  answers(@Param('id') id: string): Promise<string> {
    return ask(id)
  }

  @Post('change/:id')
  async change(@Param('id') id: string): Promise<void> {
    await this.behind.change(id)
  }
}

const open = () => {
  const redis = new Redis(process.env.REDIS_URL ?? '')
  redis.on('error', () => {})
  return { store: redisStore(redis), namespace: process.env.NAMESPACE ?? 'nest', afterClose: () => redis.quit() }
}

@Module({
  imports: [
    HerdlessModule.forRootAsync({ useFactory: async () => ({ ...open(), grace, errors: [NotFoundException] }) }),
    HerdlessModule.forRoot({ name: 'prices', ...open() }),
  ],
  controllers: [Pages, Answers, Doors],
  providers: [Catalogue, Behind, { provide: Stock, useFactory: () => new Stock() }],
})
export class AppModule {}
