import { Inject } from '@nestjs/common'
import type { ModulesContainer } from '@nestjs/core'
import type { Cache, WrapOptions } from '../core/cache/cache.ts'
import { cached } from '../decorator.ts'

type Method<Args extends unknown[]> = (this: never, ...args: [...Args, ...never[]]) => Promise<unknown>

/** A decorator of methods that return promises and take at least these arguments, for `experimentalDecorators`. */
export type ProviderDecorator<Args extends unknown[]> = <F extends Method<Args>>(
  owner: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<F>,
) => TypedPropertyDescriptor<F>

/** The options of `Cached`: those of `cache.wrap`, and the name of the cache. */
export interface CachedOptions<Args extends unknown[]> extends WrapOptions<Args> {
  /** The name of the cache. Default: the cache without a name. */
  readonly cache?: string | undefined
}

/** The keys and tags that a change invalidates. */
export interface InvalidatesOptions<Args extends unknown[]> {
  /** Makes the key or the keys of the arguments. Default: none. */
  readonly keys?: ((...args: Args) => string | readonly string[]) | undefined
  /** The tags, or a function that makes them of the arguments. Default: none. */
  readonly tags?: readonly string[] | ((...args: Args) => readonly string[]) | undefined
  /** The name of the cache. Default: the cache without a name. */
  readonly cache?: string | undefined
}

/** On the prototypes of classes with cached methods; the copies of this module for both module systems share it. */
const hasCached = Symbol.for('herdless.nest.cached')

/** The token of a cache of `HerdlessModule`: `@Inject(cacheToken('prices'))`. */
export function cacheToken(name?: string): symbol {
  return Symbol.for(name === undefined ? 'herdless cache' : `herdless cache ${name}`)
}

/** Injects a cache of `HerdlessModule`. */
export function InjectCache(name?: string): ReturnType<typeof Inject> {
  return Inject(cacheToken(name))
}

/**
 * Caches the results of a method of a provider, as `cache.wrap(method, options)` does. All instances share them, so Nest
 * refuses to start with a provider that is made for each request.
 */
export function Cached<Args extends unknown[] = never[]>(options: CachedOptions<Args>): ProviderDecorator<Args> {
  const { cache, ...how } = options
  const decorate = cached((self: object) => cacheIn(self, cache), how as WrapOptions<[...Args, ...never[]]>)
  return (owner, name, descriptor) => {
    InjectCache(cache)(owner, cacheToken(cache))
    Object.defineProperty(owner, hasCached, { value: true, configurable: true })
    return withMetadata(decorate(owner, name, descriptor), descriptor)
  }
}

/**
 * Invalidates keys and tags after a method of a provider or controller, also when it throws: its change may have
 * happened. A call rejects with what the method throws, else with the error of an invalidation.
 */
export function Invalidates<Args extends unknown[] = never[]>(
  options: InvalidatesOptions<Args>,
): ProviderDecorator<Args> {
  const { cache, keys, tags } = options
  const invalidate = async (self: object, args: Args): Promise<void> => {
    const its = cacheIn(self, cache)
    const ofKeys = async (): Promise<unknown> => keys && its.invalidate(keys(...args))
    const ofTags = async (): Promise<unknown> => {
      const stale = typeof tags === 'function' ? tags(...args) : (tags ?? [])
      return stale.length > 0 && its.invalidateTags(stale)
    }
    await Promise.all([ofKeys(), ofTags()])
  }
  return <F extends Method<Args>>(owner: object, _name: string | symbol, descriptor: TypedPropertyDescriptor<F>) => {
    InjectCache(cache)(owner, cacheToken(cache))
    const method = descriptor.value as unknown as (this: unknown, ...args: Args) => Promise<unknown>
    async function changing(this: object, ...args: Args): Promise<unknown> {
      let result: unknown
      try {
        result = await method.apply(this, args)
      } catch (error) {
        await invalidate(this, args).catch(() => {})
        throw error
      }
      await invalidate(this, args)
      return result
    }
    Object.defineProperty(changing, 'name', { value: method.name })
    return withMetadata({ ...descriptor, value: changing as unknown as F }, descriptor)
  }
}

/** The cache that Nest has injected into an object. */
function cacheIn(self: object, name: string | undefined): Cache {
  const cache = (self as Record<symbol, Cache | undefined>)[cacheToken(name)]
  if (cache !== undefined) return cache
  throw new TypeError(`Expected Nest to have injected ${String(cacheToken(name))} into ${self.constructor.name}`)
}

/** Copies the metadata that inner decorators have set on a method, such as its route. */
function withMetadata<F>(to: TypedPropertyDescriptor<F>, { value }: TypedPropertyDescriptor<F>): typeof to {
  const [target, from] = [to.value as object, value as object]
  for (const key of Reflect.getMetadataKeys(from)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, from), target)
  }
  return to
}

/**
 * Gives the cache to those providers with cached methods that Nest has not made itself.
 * @throws TypeError for one that is made for each request
 */
export function checkProviders(modules: ModulesContainer, token: symbol, cache: Cache): void {
  for (const { providers, controllers, injectables } of modules.values()) {
    for (const wrapper of [providers, controllers, injectables].flatMap((each) => [...each.values()])) {
      const { metatype, name } = wrapper
      const isStatic = wrapper.isDependencyTreeStatic()
      if (!isStatic && metatype?.prototype !== undefined && hasCached in metatype.prototype) {
        throw new TypeError(
          `Expected ${name} not to be request-scoped, nor anything that it injects, because it has @Cached methods: ` +
            'all requests would share what they return to one',
        )
      }
      const instance = isStatic ? wrapper.instance : null
      if (typeof instance === 'object' && instance !== null && hasCached in instance && !(token in instance)) {
        Object.assign(instance, { [token]: cache })
      }
    }
  }
}
