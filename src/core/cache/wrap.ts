import { argumentsKey, copied } from '../entry/arguments-key.ts'
import type { Cache, Wrappable, Wrapped, WrapOptions, WrappedMethods } from './cache.ts'
import { loadContexts, type LoadNode } from '../load/circular-load.ts'
import { formatValue } from '../time/duration.ts'
import { checkKey } from '../entry/key.ts'
import type { LoadContext } from '../load/loader.ts'
import type { CallOptions } from '../options/options.ts'
import { refinePlan, type CallPlans, type Plan } from '../options/plan.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown

/**
 * The contexts of the loads that run wrapped functions. They are not kept per cache, because the reader knows no cache.
 */
const contexts = new WeakMap<LoadNode, LoadContext>()

/**
 * The context of the load that runs the current wrapped function, the same that a loader receives as its argument.
 * `null` outside of such a load, so also in a function that is called without its cache.
 */
export function loadContext(): LoadContext | null {
  const node = loadContexts.current
  return (node && contexts.get(node)) ?? null
}

/** The wrapped functions of one cache. */
export class Wraps {
  readonly #cache: Cache
  readonly #plan: Plan
  readonly #names = new Set<string>()
  readonly #plans: CallPlans

  constructor(cache: Cache, plan: Plan, plans: CallPlans) {
    this.#cache = cache
    this.#plan = plan
    this.#plans = plans
  }

  /** See `Cache.wrap`. */
  wrap<F extends Wrappable>(fn: F, options: WrapOptions<Parameters<F>>): Wrapped<F> {
    if (typeof fn !== 'function') throw new TypeError(`Expected a function to wrap, got ${formatValue(fn)}`)
    if (typeof options !== 'object' || options === null) {
      throw new TypeError(`Expected the options of wrap to be an object with a \`key\`, got ${formatValue(options)}`)
    }
    const { key, ...rest } = { ...options }
    const keyOf = typeof key === 'function' ? checkedKeyOf(key as unknown as Call) : this.#keysOf(key)
    const callOptions = this.#checked(rest)
    if (typeof key === 'string') this.#names.add(key)
    return this.#wrapped(fn as unknown as Call, keyOf, typeof key === 'string', callOptions) as unknown as Wrapped<F>
  }

  #wrapped(
    fn: Call,
    keyOf: (args: unknown[]) => string,
    isPlain: boolean,
    options: CallOptions | undefined,
  ): (...args: unknown[]) => Promise<unknown> {
    const cache = this.#cache
    const call = (verb: 'getOrLoad' | 'refresh', self: unknown, args: unknown[]): Promise<unknown> => {
      const key = keyOf(args)
      // The load begins later, when the caller may have changed its objects; the function must get those of the key.
      const given = isPlain ? copied(args) : args
      const loader = (context: LoadContext): unknown => {
        contexts.set(loadContexts.current as LoadNode, context)
        return fn.apply(self, given)
      }
      return cache[verb](key, loader, options)
    }
    async function wrapped(this: unknown, ...args: unknown[]): Promise<unknown> {
      return call('getOrLoad', this, args)
    }
    Object.defineProperties(wrapped, { name: { value: fn.name }, length: { value: fn.length } })
    return Object.assign(wrapped, {
      keyOf: (...args: unknown[]) => keyOf(args),
      peek: async (...args: unknown[]) => cache.peek(keyOf(args)),
      invalidate: async (...args: unknown[]) => cache.invalidate(keyOf(args)),
      async refresh(this: unknown, ...args: unknown[]): Promise<unknown> {
        return call('refresh', this === wrapped ? undefined : this, args)
      },
    })
  }

  /**
   * Makes keys of a name and the arguments.
   * @throws TypeError for an invalid name, or one already used: two functions would be given each other's values
   */
  #keysOf(name: unknown): (args: unknown[]) => string {
    if (typeof name !== 'string' || !/^[^()]{1,200}$/.test(name) || !name.isWellFormed()) {
      throw new TypeError(
        'Expected `key` to be a name of 1 to 200 characters without parentheses, ' +
          `or a function that makes the key of the arguments, got ${formatValue(name)}`,
      )
    }
    if (this.#names.has(name)) {
      throw new TypeError(
        `Expected \`key\` to be a name of its own, but this cache has wrapped a function as ${formatValue(name)} already; ` +
          'wrap a function once, or give `key` as a function where keys are to be shared',
      )
    }
    return (args) => argumentsKey(name, args)
  }

  /**
   * The options of all calls of a wrapped function.
   * @throws TypeError as `getOrLoad`
   */
  #checked(options: CallOptions): CallOptions | undefined {
    const plan = refinePlan(this.#plan, options, 'wrap')
    if (options.signal !== undefined) {
      throw new TypeError('Unknown option `signal` of wrap: it ends the wait of one call, and is for getOrLoad')
    }
    if (Object.keys(options).length === 0) return undefined
    this.#plans.add(options, plan)
    return options
  }
}

function checkedKeyOf(key: Call): (args: unknown[]) => string {
  return (args) => {
    const made = key(...args)
    checkKey(made)
    return made
  }
}

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

/**
 * Decorates a method so that its results are cached, like `cache.wrap(method, options)`. All instances share the
 * results, because the key is made of the arguments alone.
 * @throws TypeError as `wrap`, when the class is defined; also if the decorated member is not a method
 */
export function cached<Args extends unknown[] = never[]>(
  cache: Cache,
  options: WrapOptions<Args>,
): CachedDecorator<Args> {
  const wrapped = <F>(method: F): F => {
    if (typeof method !== 'function')
      throw new TypeError(`Expected \`cached\` to decorate a method, got ${formatValue(method)}`)
    return cache.wrap(method as unknown as Wrappable, options as unknown as WrapOptions<never[]>) as unknown as F
  }
  return <F>(target: F | object, context: unknown, descriptor?: TypedPropertyDescriptor<F>) => {
    // A legacy decorator receives the property name here; of a field, nothing else.
    if (typeof context !== 'object' || context === null) return { ...descriptor, value: wrapped(descriptor?.value) }
    const { kind } = context as { kind?: unknown }
    if (kind !== 'method') throw new TypeError(`Expected \`cached\` to decorate a method, got a ${String(kind)}`)
    return wrapped(target)
  }
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
  const method = owner[name] as unknown as Partial<WrappedMethods<unknown[], unknown>> | undefined
  const { keyOf, peek, invalidate, refresh } = method ?? {}
  if (!keyOf || !peek || !invalidate || !refresh) {
    throw new TypeError(`Expected \`${String(name)}\` to be a cached method, got ${formatValue(method)}`)
  }
  const methods: WrappedMethods<unknown[], unknown> = {
    keyOf,
    peek,
    invalidate,
    refresh: (...args) => refresh.apply(owner, args),
  }
  return methods as unknown as CachedMethod<Owner[Name]>
}
