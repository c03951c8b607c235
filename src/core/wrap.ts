import { argumentsKey, copied } from './arguments-key.ts'
import type { Cache, Wrappable, Wrapped, WrapOptions } from './cache.ts'
import { loading, type Loading } from './circle.ts'
import { shown } from './duration.ts'
import { checkKey } from './key.ts'
import type { LoadContext } from './load.ts'
import type { CallOptions } from './options.ts'
import { refined, type CallPlan, type Plan } from './plan.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown

/** The contexts of the loads that run wrapped functions. Not by cache, for whoever asks for one knows of no cache. */
const contexts = new WeakMap<Loading, LoadContext>()

/**
 * What a wrapped function may say about its result, and is told: the context that a loader is given as its argument.
 * `null` where no wrapped function is being loaded, so also in a function that is called without its cache.
 */
export function loadContext(): LoadContext | null {
  const node = loading.getStore()
  return (node && contexts.get(node)) ?? null
}

/** The wrapped functions of one cache. */
export class Wraps {
  readonly #cache: Cache
  readonly #plan: Plan
  readonly #names = new Set<string>()
  readonly #plans = new WeakMap<CallOptions, CallPlan>()

  constructor(cache: Cache, plan: Plan) {
    this.#cache = cache
    this.#plan = plan
  }

  /** The plan of a call: options that were checked when a function was wrapped are not checked again. */
  planOf(options: CallOptions | undefined, who: 'getOrLoad' | 'refresh'): CallPlan {
    return options === undefined ? this.#plan : (this.#plans.get(options) ?? refined(this.#plan, options, who))
  }

  /** See `Cache.wrap`. */
  wrap<F extends Wrappable>(fn: F, options: WrapOptions<Parameters<F>>): Wrapped<F> {
    if (typeof fn !== 'function') throw new TypeError(`Expected a function to wrap, got ${shown(fn)}`)
    if (typeof options !== 'object' || options === null) {
      throw new TypeError(`Expected the options of wrap to be an object with a \`key\`, got ${shown(options)}`)
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
      // The load begins later, when the caller may have changed its objects; they must be what the key says.
      const given = isPlain ? copied(args) : args
      const loader = (context: LoadContext): unknown => {
        contexts.set(loading.getStore() as Loading, context)
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

  /** Throws TypeError unless `name` is one, and nobody else's: two functions would be given each other's values. */
  #keysOf(name: unknown): (args: unknown[]) => string {
    if (typeof name !== 'string' || !/^[^()]{1,200}$/.test(name) || !name.isWellFormed()) {
      throw new TypeError(
        'Expected `key` to be a name of 1 to 200 characters without parentheses, ' +
          `or a function that makes the key of the arguments, got ${shown(name)}`,
      )
    }
    if (this.#names.has(name)) {
      throw new TypeError(
        `Expected \`key\` to be a name of its own, but this cache has wrapped a function as ${shown(name)} already; ` +
          'wrap a function once, or give `key` as a function where keys are to be shared',
      )
    }
    return (args) => argumentsKey(name, args)
  }

  /** What is handed on with each call. Throws TypeError as `getOrLoad` would. */
  #checked(options: CallOptions): CallOptions | undefined {
    const plan = refined(this.#plan, options, 'wrap')
    if (plan.signal !== undefined) {
      throw new TypeError('Unknown option `signal` of wrap: it ends the wait of one call, and is for getOrLoad')
    }
    if (Object.keys(options).length === 0) return undefined
    this.#plans.set(options, plan)
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
