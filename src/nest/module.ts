import { ModulesContainer } from '@nestjs/core'
import type { Cache } from '../core/cache/cache.ts'
import type { CacheOptions } from '../core/options/options.ts'
import { createCache } from '../create-cache.ts'
import { CacheManager, CACHE_MANAGER } from './cache-manager.ts'
import { cacheToken, checkProviders } from './decorators.ts'
import { HerdlessHealth } from './health.ts'

/** The options of a cache of Nest. */
export interface HerdlessModuleOptions extends CacheOptions {
  /** Called when the cache is closed: ends the client that its store was given. */
  readonly afterClose?: (() => unknown) | undefined
}

/** The options of `forRootAsync`: a factory of options, or of a cache that the app closes itself. */
export interface HerdlessModuleAsyncOptions<Args extends unknown[] = never[]> {
  /** The name of the cache. Default: that of the default cache. */
  readonly name?: string | undefined
  /** The modules that provide what is injected. */
  readonly imports?: unknown[] | undefined
  /** The tokens of the arguments of `useFactory`. */
  readonly inject?: unknown[] | undefined
  readonly useFactory: (...args: Args) => Made | Promise<Made>
}

type Made = HerdlessModuleOptions | Cache

/** A dynamic module, as Nest defines it. */
export interface HerdlessDynamicModule {
  module: typeof HerdlessModule
  global: true
  // oxlint-disable-next-line typescript/no-explicit-any -- any module, whose type is Nest's.
  imports: any[]
  // oxlint-disable-next-line typescript/no-explicit-any -- any provider
  providers: any[]
  exports: (string | symbol | (new (cache: Cache) => unknown))[]
}

/**
 * The module of Nest that makes caches, one for each call in the imports of the app's module, and closes them when the
 * app has answered its last request. They can be injected everywhere, under `cacheToken(name)`; the cache without a name
 * also as `CACHE_MANAGER`, and as what `CacheInterceptor` and `HerdlessHealth` use.
 */
export class HerdlessModule {
  /**
   * Makes a cache.
   * @param options those of `createCache`, and its name, if it is not the default cache
   */
  static forRoot({ name, ...options }: HerdlessModuleOptions & { name?: string } = {}): HerdlessDynamicModule {
    return HerdlessModule.forRootAsync({ name, useFactory: () => options })
  }

  /** Makes a cache whose options are given by a function of injected providers; or takes one, which it does not close. */
  static forRootAsync<Args extends unknown[]>(options: HerdlessModuleAsyncOptions<Args>): HerdlessDynamicModule {
    const { name, imports = [], inject = [], useFactory } = options
    const [token, life] = [cacheToken(name), Symbol(`herdless life ${name}`)]
    const ofDefault = [CacheManager, HerdlessHealth]
    const providers = ofDefault.map((made) => {
      return { provide: made, inject: [token], useFactory: (cache: Cache) => new made(cache) }
    })
    const others = [...providers, { provide: CACHE_MANAGER, useExisting: CacheManager }]
    return {
      module: HerdlessModule,
      global: true,
      imports,
      providers: [
        {
          provide: life,
          inject: [ModulesContainer, ...inject],
          useFactory: async (modules: ModulesContainer, ...args: Args) =>
            new CacheLife(token, modules, await useFactory(...args)),
        },
        { provide: token, inject: [life], useFactory: ({ cache }: CacheLife) => cache },
        ...(name === undefined ? others : []),
      ],
      exports: [token, ...(name === undefined ? [...ofDefault, CACHE_MANAGER] : [])],
    }
  }
}

/** The life of a cache, by the hooks of Nest. */
class CacheLife {
  readonly cache: Cache
  readonly #token: symbol
  readonly #modules: ModulesContainer
  readonly #end: () => unknown

  constructor(token: symbol, modules: ModulesContainer, made: Made) {
    this.#token = token
    this.#modules = modules
    if ('getOrLoad' in made) {
      this.cache = made
      this.#end = () => {}
      return
    }
    const { afterClose, ...options } = made
    const cache = createCache(options)
    this.cache = cache
    this.#end = async () => {
      await cache.close().finally(() => afterClose?.())
    }
  }

  onModuleInit(): void {
    checkProviders(this.#modules, this.#token, this.cache)
  }

  /** Nest calls it when the last request is answered. */
  async onApplicationShutdown(): Promise<void> {
    await this.#end()
  }
}
