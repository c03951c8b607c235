import { Inject, SetMetadata } from '@nestjs/common'
import type { Cache } from '../core/cache/cache.ts'
import type { Duration } from '../core/time/duration.ts'
import { answer, keyOf, metadata, type Context, type Handling } from './answer.ts'
import { cacheToken } from './decorators.ts'

/** A value, or a function of the execution context that makes one. */
export type OfContext<T> = T | ((context: never) => T | Promise<T>)

type HandlerDecorator = ClassDecorator & MethodDecorator

/**
 * Names the key of the answers of a handler, for all urls that it has. Without one the key is made of the host and the
 * url. Where a function says `undefined`, nothing is stored.
 */
export function CacheKey(key: OfContext<string | undefined>): HandlerDecorator {
  return SetMetadata(metadata.key, key)
}

/** How long the answers of a handler or a controller are fresh; 0 for ever. Default: the `ttl` of the cache. */
export function CacheTTL(ttl: OfContext<Duration>): HandlerDecorator {
  return SetMetadata(metadata.ttl, ttl)
}

/**
 * Says for which user the answer to a request is; the user becomes a part of the key. Required for requests on which a
 * guard has set a property, or which have cookies or credentials, and for handlers that read request fields.
 * @param user receives the request, as the guards have left it; with `undefined` the answer is not stored
 */
export function CacheFor(user: (request: never) => string | number | undefined): HandlerDecorator {
  return SetMetadata(metadata.user, user)
}

/**
 * An interceptor for the answers of handlers of GET: after the guards, it takes what a handler returns from the cache
 * without a name, where one handler in the fleet makes it for all.
 */
export class CacheInterceptor {
  readonly #cache: Cache

  constructor(cache: Cache) {
    this.#cache = cache
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- an observable of RxJS, or what Nest makes one of.
  async intercept(context: Context, next: Handling): Promise<any> {
    return answer(this.#cache, context, next, async (asked) => this.trackBy(asked))
  }

  /**
   * Makes the key of the answers to a request, for a subclass that knows it better than `CacheKey`. With `undefined` they
   * are not stored.
   */
  protected trackBy(context: Context): string | undefined | Promise<string | undefined> {
    return keyOf(context)
  }
}

Inject(cacheToken())(CacheInterceptor, undefined, 0)
