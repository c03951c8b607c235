import type { Cache, Wrappable, WrapOptions, WrappedMethods } from './cache.ts'
import { shown } from './duration.ts'

/** A method that returns a promise and takes what the key is made of. */
type Method<Args extends unknown[]> = (this: never, ...args: Args) => Promise<unknown>

/** A decorator of methods that return promises: a standard one, and one for `experimentalDecorators` of TypeScript. */
export interface CachedDecorator<Args extends unknown[]> {
  <F extends Method<Args>>(method: F, context: { readonly kind: 'method' }): F
  <F extends Method<Args>>(
    owner: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<F>,
  ): TypedPropertyDescriptor<F>
}

/**
 * Decorates a method so that its results are cached, as `cache.wrap(method, options)` does. All instances share them: the
 * key is made of the arguments alone.
 * @throws TypeError as `wrap` does, when the class is defined; also for what is no method
 */
export function cached<Args extends unknown[] = never[]>(
  cache: Cache,
  options: WrapOptions<Args>,
): CachedDecorator<Args> {
  const wrapped = <F>(method: F): F => {
    if (typeof method !== 'function')
      throw new TypeError(`Expected \`cached\` to decorate a method, got ${shown(method)}`)
    return cache.wrap(method as unknown as Wrappable, options as unknown as WrapOptions<never[]>) as unknown as F
  }
  return <F>(target: F | object, context: unknown, descriptor?: TypedPropertyDescriptor<F>) => {
    // Legacy decorators are given the name of the property here; of fields, nothing else.
    if (typeof context !== 'object' || context === null) return { ...descriptor, value: wrapped(descriptor?.value) }
    const { kind } = context as { kind?: unknown }
    if (kind !== 'method') throw new TypeError(`Expected \`cached\` to decorate a method, got a ${String(kind)}`)
    return wrapped(target)
  }
}

/** What a method that returns a promise has once it is cached. */
export type CachedMethod<F> = F extends (...args: infer Args) => Promise<infer T> ? WrappedMethods<Args, T> : never

/**
 * What can be done with the results of a cached method, its object being `this`: `cachedMethod(users, 'byId').invalidate(42)`.
 * @throws TypeError if it is none
 */
export function cachedMethod<Owner extends object, Name extends keyof Owner>(
  owner: Owner,
  name: Name,
): CachedMethod<Owner[Name]> {
  const method = owner[name] as unknown as Partial<WrappedMethods<unknown[], unknown>> | undefined
  const { keyOf, peek, invalidate, refresh } = method ?? {}
  if (!keyOf || !peek || !invalidate || !refresh) {
    throw new TypeError(`Expected \`${String(name)}\` to be a cached method, got ${shown(method)}`)
  }
  const methods: WrappedMethods<unknown[], unknown> = {
    keyOf,
    peek,
    invalidate,
    refresh: (...args) => refresh.apply(owner, args),
  }
  return methods as unknown as CachedMethod<Owner[Name]>
}
