import { Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common'
import { createCache, type Cache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'
import { NotFoundError } from './not-found.js'

export const CACHE = Symbol('cache')

/** Nest calls it when the last request is answered. */
@Injectable()
class CacheShutdown implements OnApplicationShutdown {
  constructor(
    @Inject(CACHE) private readonly cache: Cache,
    @Inject(Redis) private readonly redis: Redis,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.cache.close()
    await this.redis.quit()
  }
}

@Module({
  providers: [
    { provide: Redis, useFactory: () => new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379') },
    {
      provide: CACHE,
      inject: [Redis],
      useFactory: (redis: Redis): Cache =>
        createCache({
          store: redisStore(redis),
          namespace: process.env.NAMESPACE ?? 'nest11',
          errors: [NotFoundError],
        }),
    },
    CacheShutdown,
  ],
  exports: [CACHE],
})
export class CacheModule {}
