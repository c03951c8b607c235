import { checkedOptions } from './core/cache/wrap.ts'
import type { Cache, Wrapped, WrapOptions, WrappedMethods } from './core/cache/cache.ts'
import { formatValue } from './core/time/duration.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown

/** A method that returns a promise and takes the arguments of the key. */
type Method<Args extends unknown[]> = (this: never, ...args: Args) => Promise<unknown>

/**
 * A decorator of methods that return promises, for standard decorators and for TypeScript's `experimentalDecorators`.
 */
export interface CachedDecorator<Args extends unknown[]> {
  <F extends Method<Args>>(method: F, context: { readonly kind: 'method' }): F
  <F extends Method<Args>>(
    owner: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<F>,
  ): TypedPropertyDescriptor<F>
}

/** An object whose cache is its property `cache`, as an injected one often is. */
interface WithCache {
  readonly cache: Cache
}

/** The wrapped function that an object calls, of a decorator that asks the object for its cache. */
const ofObject = new WeakMap<object, (self: unknown) => Wrapped<Call>>()

/**
 * Decorates a method so that its results are cached, like `cache.wrap(method, options)`. All instances share the
 * results, because the key is made of the arguments alone.
 * @param cache the cache; or a function of the object (or class) that returns it, where it is injected after the class
 *   was defined
 * @throws TypeError as `wrap`, when the class is defined; also if the decorated member is not a method. With a function,
 *   a call rejects with what cannot be known before: the function returns no cache, or the name is used already
 */
export function cached<Args extends unknown[] = never[], Self = WithCache>(
  cache: Cache | ((self: Self) => Cache),
  options: WrapOptions<Args>,
): CachedDecorator<Args> {
  const wrapped = <F>(method: F): F => {
    if (typeof method !== 'function')
      throw new TypeError(`Expected \`cached\` to decorate a method, got ${formatValue(method)}`)
    const [fn, how] = [method as unknown as Call, options as unknown as WrapOptions<unknown[]>]
    return (typeof cache === 'function' ? wrappedLater(fn, how, cache) : cache.wrap(fn, how)) as unknown as F
  }
  return <F>(target: F | object, context: unknown, descriptor?: TypedPropertyDescriptor<F>) => {
    // A legacy decorator receives the property name here; of a field, nothing else.
    if (typeof context !== 'object' || context === null) return { ...descriptor, value: wrapped(descriptor?.value) }
    const { kind } = context as { kind?: unknown }
    if (kind !== 'method') throw new TypeError(`Expected \`cached\` to decorate a method, got a ${String(kind)}`)
    return wrapped(target)
  }
}

/** A method that is wrapped once for each cache, when an object with that cache is first asked for it. */
function wrappedLater(fn: Call, options: WrapOptions<unknown[]>, cacheOf: (self: never) => Cache): Call {
  checkedOptions(options, 'wrap')
  const wraps = new WeakMap<Cache, Wrapped<Call>>()
  const wrapFor = (self: unknown): Wrapped<Call> => {
    const cache = cacheOf(self as never)
    if (typeof (cache as Cache | undefined)?.wrap !== 'function')
      throw new TypeError(`Expected the function of \`cached\` to return a cache, got ${formatValue(cache)}`)
    const present = wraps.get(cache)
    if (present !== undefined) return present
    const made = cache.wrap(fn, options) as Wrapped<Call>
    wraps.set(cache, made)
    return made
  }
  async function wrapped(this: unknown, ...args: unknown[]): Promise<unknown> {
    return wrapFor(this).apply(this, args)
  }
  Object.defineProperties(wrapped, { name: { value: fn.name }, length: { value: fn.length } })
  ofObject.set(wrapped, wrapFor)
  return wrapped
}

/** The methods that a method gains when it is cached. */
export type CachedMethod<F> = F extends (...args: infer Args) => Promise<infer T> ? WrappedMethods<Args, T> : never

/**
 * The methods of a cached method, bound to its object: `cachedMethod(users, 'byId').invalidate(42)`.
 * @throws TypeError if the method is not cached
 */
export function cachedMethod<Owner extends object, Name extends keyof Owner>(
  owner: Owner,
  name: Name,
): CachedMethod<Owner[Name]> {
  const member: unknown = owner[name]
  const method = (ofObject.get(member as object)?.(owner) ?? member) as
    | Partial<WrappedMethods<unknown[], unknown>>
    | undefined
  const { keyOf, peek, invalidate, expire, refresh } = method ?? {}
  if (!keyOf || !peek || !invalidate || !expire || !refresh) {
    throw new TypeError(`Expected \`${String(name)}\` to be a cached method, got ${formatValue(method)}`)
  }
  const methods: WrappedMethods<unknown[], unknown> = {
    keyOf,
    peek,
    invalidate,
    expire,
    refresh: (...args) => refresh.apply(owner, args),
  }
  return methods as unknown as CachedMethod<Owner[Name]>
}
