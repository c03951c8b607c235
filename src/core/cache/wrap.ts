import { argumentsKey, copied } from '../entry/arguments-key.ts'
import type { Cache, DefinedBy, Definition, Wrappable, Wrapped, WrapOptions } from './cache.ts'
import type { Given, MaybeSchema } from '../codec/schema.ts'
import { loadContexts, type LoadNode } from '../flight/circular-load.ts'
import { formatValue } from '../time/duration.ts'
import { ttlOf } from '../entry/freshness.ts'
import { checkKey } from '../entry/key.ts'
import { checkedTags } from '../entry/tags.ts'
import type { LoadContext } from '../flight/loader.ts'
import { aFunction, checkObject } from '../options/checks.ts'
import type { CallOptions, PeekOptions, SetOptions, ValueOptions } from '../options/options.ts'
import type { CallPlans } from '../options/call-plans.ts'
import { checkCallOptions, refinePlan, type Plan } from '../options/plan.ts'

type TagsOf = (...args: unknown[]) => readonly string[]
type Call = (this: unknown, ...args: unknown[]) => unknown

/** The options of all calls of a wrapped function. */
type Options = CallOptions & ValueOptions

/** The names of one wrapped function: the keys and the tags of its values. */
interface Names {
  readonly keyOf: (args: unknown[]) => string
  /** Whether keys are made of the arguments alone. */
  readonly isPlain: boolean
  /** The tags beside those of the options; `null` if there are none. */
  readonly tagsOf: ((args: unknown[]) => readonly string[]) | null
}

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
  wrap<F extends Wrappable, S extends MaybeSchema>(
    fn: F,
    options: WrapOptions<Parameters<F>, S>,
  ): Wrapped<F, Given<S, Awaited<ReturnType<F>>>> {
    if (typeof fn !== 'function') throw new TypeError(`Expected a function to wrap, got ${formatValue(fn)}`)
    return this.#make(fn, options, 'wrap')
  }

  #make<F extends Wrappable, S extends MaybeSchema>(
    fn: F,
    options: WrapOptions<Parameters<F>, S>,
    who: 'wrap' | 'define',
  ): Wrapped<F, Given<S, Awaited<ReturnType<F>>>> {
    const { key, callOptions, tagsOf } = checkedOptions(options, who)
    const plan = refinePlan(this.#plan, callOptions ?? {}, who)
    const isPlain = typeof key === 'string'
    if (isPlain) this.#reserve(key)
    if (callOptions !== undefined) this.#plans.add(callOptions, plan)
    const keyOf = isPlain ? (args: unknown[]) => argumentsKey(key, args) : (args: unknown[]) => checkedKey(key(...args))
    const names = { keyOf, isPlain, tagsOf }
    return this.#wrapped(fn as unknown as Call, names, callOptions) as unknown as Wrapped<
      F,
      Given<S, Awaited<ReturnType<F>>>
    >
  }

  /** See `Cache.define`. */
  define<Args extends unknown[], T, S extends MaybeSchema>(definition: Definition<Args, T, S>): DefinedBy<Args, T, S> {
    const { key, load, ...options } = { ...checkObject('define', definition) }
    aFunction('key', key)
    aFunction('load', load)
    const { length } = key
    const keyOf = (...args: unknown[]): string => key(...(fitted(args, length) as Args))
    const loadOf = (...args: unknown[]): unknown => {
      return load(...([...fitted(args, length), loadContext()] as [...Args, LoadContext]))
    }
    const get = this.#make(loadOf, { ...options, key: keyOf } as WrapOptions<unknown[], S>, 'define')
    const { tags: said, ...ofCalls } = options
    const { ttl, grace, jitter, schema, version } = ofCalls
    const plan = refinePlan(this.#plan, ofCalls as CallOptions, 'define')
    const set = async (...args: unknown[]): Promise<void> => {
      if (args.length !== length + 1) {
        throw new TypeError(`Expected the ${length} arguments of \`key\` and a value, got ${args.length} arguments`)
      }
      const its = args.slice(0, length)
      // As in a load: a function of tags adds to those of the cache.
      const tags = typeof said === 'function' ? [...plan.tags, ...checkedTags('tags', said(...(its as Args)))] : said
      const value = args[length]
      // A `set` with a ttl keeps `null` for that ttl, too.
      const isNothing = value === null || value === undefined
      const settings = { ttl: isNothing ? ttlOf(value, plan) : ttl, grace, jitter, schema, version, tags }
      return this.#cache.set(keyOf(...its), value, settings as SetOptions)
    }
    const { peek, invalidate, expire, refresh } = get
    return { get, set, peek, invalidate, expire, refresh, keyOf: get.keyOf } as unknown as DefinedBy<Args, T, S>
  }

  #wrapped(
    fn: Call,
    { keyOf, isPlain, tagsOf }: Names,
    options: Options | undefined,
  ): (...args: unknown[]) => Promise<unknown> {
    const cache = this.#cache
    const call = (verb: 'getOrLoad' | 'refresh', self: unknown, args: unknown[]): Promise<unknown> => {
      const key = keyOf(args)
      // The load begins later, when the caller may have changed its objects; the function must get those of the key.
      const given = isPlain ? copied(args) : args
      const loader = (context: LoadContext): unknown => {
        contexts.set(loadContexts.current as LoadNode, context)
        if (tagsOf !== null) context.tags(...checkedTags('tags', tagsOf(given)))
        return fn.apply(self, given)
      }
      return cache[verb](key, loader, options)
    }
    async function wrapped(this: unknown, ...args: unknown[]): Promise<unknown> {
      return call('getOrLoad', this, args)
    }
    const kind = kindIn(options)
    Object.defineProperties(wrapped, { name: { value: fn.name }, length: { value: fn.length } })
    return Object.assign(wrapped, {
      keyOf: (...args: unknown[]) => keyOf(args),
      peek: async (...args: unknown[]) => cache.peek(keyOf(args), kind),
      invalidate: async (...args: unknown[]) => cache.invalidate(keyOf(args), kind && { version: kind.version }),
      expire: async (...args: unknown[]) => cache.expire(keyOf(args), kind && { version: kind.version }),
      async refresh(this: unknown, ...args: unknown[]): Promise<unknown> {
        return call('refresh', this === wrapped ? undefined : this, args)
      },
    })
  }

  /** @throws TypeError for a name already used: two functions would be given each other's values */
  #reserve(name: string): void {
    if (this.#names.has(name)) {
      throw new TypeError(
        `Expected \`key\` to be a name of its own, but this cache has wrapped a function as ${formatValue(name)} already; ` +
          'wrap a function once, or give `key` as a function where keys are to be shared',
      )
    }
    this.#names.add(name)
  }
}

interface CheckedOptions extends Pick<Names, 'tagsOf'> {
  /** A name, or a function that makes the key. */
  readonly key: string | ((...args: unknown[]) => unknown)
  /** The options of all calls; `undefined` for none. */
  readonly callOptions: Options | undefined
}

/**
 * The options of a wrapped or defined function, checked as far as its cache has no say in it.
 * @throws TypeError as `wrap`
 */
export function checkedOptions(options: object, who: 'wrap' | 'define'): CheckedOptions {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`Expected the options of ${who} to be an object with a \`key\`, got ${formatValue(options)}`)
  }
  const { key, tags, ...rest }: { key?: unknown; tags?: TagsOf | Options['tags'] } & Options = { ...options }
  if (typeof key !== 'function' && !isName(key)) {
    throw new TypeError(
      'Expected `key` to be a name of 1 to 200 characters without parentheses, ' +
        `or a function that makes the key of the arguments, got ${formatValue(key)}`,
    )
  }
  const isFunction = typeof tags === 'function'
  const callOptions = isFunction || tags === undefined ? rest : { ...rest, tags }
  checkCallOptions(callOptions, who)
  if (rest.signal !== undefined) {
    throw new TypeError(`Unknown option \`signal\` of ${who}: it ends the wait of one call, and is for getOrLoad`)
  }
  return {
    key: key as CheckedOptions['key'],
    callOptions: Object.keys(callOptions).length === 0 ? undefined : callOptions,
    tagsOf: isFunction ? (args) => tags(...args) : null,
  }
}

function isName(key: unknown): boolean {
  return typeof key === 'string' && /^[^()]{1,200}$/.test(key) && key.isWellFormed()
}

/** The schema and the version among options. */
function kindIn({ schema, version }: Options = {}): PeekOptions<unknown> | undefined {
  return schema === undefined && version === undefined ? undefined : { schema, version }
}

/** As many arguments as a key has parameters: what follows them must have its place. */
function fitted(args: readonly unknown[], length: number): unknown[] {
  if (args.length <= length) return Array.from({ length }, (_, index) => args[index])
  throw new TypeError(
    `Expected no more arguments than \`key\` has parameters without defaults, which are ${length}, got ${args.length}`,
  )
}

function checkedKey(key: unknown): string {
  checkKey(key)
  return key
}
