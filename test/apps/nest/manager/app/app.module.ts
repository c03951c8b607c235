import { createKeyv } from '@keyv/redis'
import { CacheModule } from '@nestjs/cache-manager'
import { Module } from '@nestjs/common'
import { Catalogue } from './catalogue.js'
import { Calls, Named, Pages } from './pages.js'

@Module({
  imports: [
    CacheModule.registerAsync({
      isGlobal: true,
      useFactory: () => ({
        stores: createKeyv(process.env.REDIS_URL, { namespace: 'shop' }),
        ttl: 60_000,
      }),
    }),
  ],
  controllers: [Calls, Named, Pages],
  providers: [Catalogue],
})
export class AppModule {}
