import { checkedTags } from '../entry/tags.ts'
import type { Kind } from '../codec/schema.ts'
import { checkedSignal, checkObject } from './checks.ts'
import type { CallOptions } from './options.ts'
import { refinePlan, type Plan } from './plan.ts'

/** The most combinations of options that are remembered; an application has a few. */
const most = 32

/** The checked options of one call. */
export interface CallPlan {
  /** The same object for all calls with the same options, except for `tags` and `signal`. */
  readonly plan: Plan
  readonly tags: readonly string[]
  readonly signal: AbortSignal | undefined
}

/** The methods that take the options of a call. */
export type Verb = 'getOrLoad' | 'refresh' | 'begin'

/** The options of an earlier call, without `tags` and `signal`. */
interface KnownOptions {
  readonly names: readonly string[]
  readonly values: readonly unknown[]
  readonly call: CallPlan
}

/**
 * The plans of the calls of one cache. Options are checked once: a later call with the same names and values is given
 * the plan of the first. Of objects only schemas are remembered, because a caller may change any other between two calls.
 */
export class CallPlans {
  readonly #base: Plan
  readonly #plain: CallPlan
  readonly #heedTtl: (ttl: unknown) => void
  /** The oldest is forgotten first. */
  readonly #known: KnownOptions[] = []
  readonly #private = new WeakMap<CallOptions, CallPlan>()

  /** @param heedTtl receives each new `ttl` as it was given, or `undefined` */
  constructor(base: Plan, heedTtl: (ttl: unknown) => void = () => undefined) {
    this.#base = base
    this.#plain = callOf(base)
    this.#heedTtl = heedTtl
  }

  /**
   * The plan of a call: its options over those of the cache.
   * @throws TypeError for an unknown option or a wrong value
   */
  planOf(options: CallOptions | undefined, who: Verb): CallPlan {
    if (options === undefined) return this.#plain
    const call = this.#find(options) ?? this.#private.get(options) ?? this.#check(options, who)
    const [tags, signal] = [own(options, 'tags'), own(options, 'signal')]
    if (tags === undefined && signal === undefined) return call
    return {
      plan: call.plan,
      tags: tags === undefined ? call.tags : checkedTags('tags', tags),
      signal: signal === undefined ? undefined : checkedSignal('signal', signal),
    }
  }

  /**
   * The kind of the near copies that may answer a call with these options; `null` unless they were checked before, and
   * can matter only to a call that finds no copy.
   * @throws TypeError for wrong tags
   */
  kindOfCopies(options: CallOptions | undefined): Kind | null {
    if (options === undefined) return this.#base
    const call = this.#find(options) ?? this.#private.get(options)
    if (call === undefined || call.plan.refreshAhead !== null) return null
    const { tags, signal } = options
    if (tags !== undefined) checkedTags('tags', tags)
    return signal === undefined ? call.plan : null
  }

  /** Adds the plan of options that no caller can change. */
  add(options: CallOptions, plan: Plan): void {
    this.#heedTtl(options.ttl)
    this.#private.set(options, callOf(plan))
  }

  #find(options: CallOptions): CallPlan | undefined {
    // A loop over the names of an object finds inherited ones, too, and those are no options.
    if (options === null || Object.getPrototypeOf(options) !== Object.prototype) return undefined
    for (const known of this.#known) if (isSame(known, options)) return known.call
    return undefined
  }

  /** Checks options that no earlier call had, and remembers them. */
  #check(options: CallOptions, who: Verb): CallPlan {
    const { tags: _tags, signal: _signal, ...rest } = checkObject(who, options)
    const call = callOf(refinePlan(this.#base, rest, who))
    this.#heedTtl(rest.ttl)
    const values: unknown[] = Object.values(rest)
    // `#find` looks at plain objects only.
    if (Object.getPrototypeOf(options) !== Object.prototype) return call
    // A function or an object is often another one in each call; a schema is the same one.
    if (Object.entries<unknown>(rest).some(([name, value]) => name !== 'schema' && isObject(value))) return call
    this.#known.push({ names: Object.keys(rest), values, call })
    if (this.#known.length > most) this.#known.shift()
    return call
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'function' || (typeof value === 'object' && value !== null)
}

/** An option, unless the object inherits it. */
function own<Name extends keyof CallOptions>(options: CallOptions, name: Name): CallOptions[Name] {
  return Object.hasOwn(options, name) ? options[name] : undefined
}

function callOf(plan: Plan): CallPlan {
  return { plan, tags: plan.tags, signal: undefined }
}

/** Whether options have these names and values, in this order. */
function isSame({ names, values }: KnownOptions, options: CallOptions): boolean {
  let at = 0
  for (const name in options) {
    if (name === 'tags' || name === 'signal') continue
    if (name !== names[at] || options[name as keyof CallOptions] !== values[at]) return false
    at++
  }
  return at === names.length
}
