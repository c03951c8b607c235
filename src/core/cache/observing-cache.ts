import { answerOf } from '../codec/error-answer.ts'
import { errorForCallers } from '../codec/load-failures.ts'
import type { Given, MaybeSchema, Taken } from '../codec/schema.ts'
import { CacheError, ignoreRejection, isError } from '../errors.ts'
import { unstoredFacts } from '../entry/freshness.ts'
import { always } from '../flight/answer.ts'
import { runLoader, type LoadContext, type LoadRun, type Loader } from '../flight/loader.ts'
import { Loss } from '../flight/loss.ts'
import type { CallOptions, PeekOptions, SetOptions, ValueOptions } from '../options/options.ts'
import { Deadlines } from '../time/deadlines.ts'
import { LeadQuestion, type Begun } from './begin.ts'
import type { Loaded, Peeked } from './cache.ts'
import { FleetCache } from './fleet-cache.ts'
import { Sibling } from './sibling.ts'

type Call<T, S extends MaybeSchema> = [key: string, loader: Loader<T>, options?: CallOptions & ValueOptions<S>]

/**
 * A cache that changes nothing: each call runs its loader, and is given what that returns. The cache that it extends
 * receives the same calls with placeholders for values, on a store of its own in the memory of this process: its
 * statistics show the effect that a cache would have.
 */
export class ObservingCache extends FleetCache {
  readonly #deadlines = new Deadlines(this.plan.clock, 'background')

  override getOrLoad<T extends Taken<S>, S extends MaybeSchema>(...call: Call<T, S>): Promise<Given<S, T>> {
    return this.#ask('getOrLoad', ...call)
  }

  /** What is loaded is not stored. */
  override async getOrLoadEntry<T extends Taken<S>, S extends MaybeSchema>(
    ...call: Call<T, S>
  ): Promise<Loaded<Given<S, T>>> {
    return { value: await this.#ask('getOrLoad', ...call), ...unstoredFacts }
  }

  /** Always leads. */
  override async begin<T = unknown, S extends MaybeSchema = undefined>(
    key: string,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Begun<Given<S, T>, S extends undefined ? T : Taken<S>>> {
    const question = new LeadQuestion(
      () => true,
      () => undefined,
    )
    const end = { value: null, currentAsOf: always, freshUntil: always, token: '', facts: unstoredFacts }
    const ask = (): Promise<never> => {
      const ended = this.#ask('getOrLoad', key, question.loader, options)
      ended.then(
        () => question.ended({ state: 'value', ...end }),
        (error: unknown) => {
          const isOwn = isError(error) && error instanceof CacheError
          question.ended(isOwn ? { state: 'failed', error, currentAsOf: always } : { state: 'pass' })
        },
      )
      return ended as Promise<never>
    }
    return (await question.answer(ask)) as Begun<never, never>
  }

  override refresh<T extends Taken<S>, S extends MaybeSchema>(...call: Call<T, S>): Promise<Given<S, T>> {
    return this.#ask('refresh', ...call)
  }

  override load<T extends Taken<S>, S extends MaybeSchema>(...call: Call<T, S>): Promise<Given<S, T>> {
    return this.#ask('getOrLoad', ...call)
  }

  /** Never finds a value. */
  override async look<T>(key: string, options?: PeekOptions<T>): Promise<Peeked<T>> {
    await super.look(key, options)
    return { state: 'missing' }
  }

  override async set(key: string, value: unknown, options?: SetOptions): Promise<void> {
    await super.set(key, placeholderOf(value), ofPlaceholders(options))
  }

  override sibling(): Sibling {
    return new Sibling(this, { events: this.events, near: null, store: { unavailable: true } }, this.plan)
  }

  async #ask<T, S extends MaybeSchema>(verb: 'getOrLoad' | 'refresh', ...call: Call<T, S>): Promise<Given<S, T>> {
    const [key, loader, options] = call
    const { plan, tags, signal, parent } = this.caller(verb, key, loader, options)
    const node = { key, cache: this, parent, waitsFor: new Set<never>(), running: true, permit: null }
    const its = { key, loader, plan, tags, node, clock: this.plan.clock, deadlines: this.#deadlines }
    const loaded = runLoader({ ...its, fence: null, stale: null, permit: null, loss: new Loss() })
    const { signal: _, ...rest } = ofPlaceholders<CallOptions>(options)
    // The caller's own load reports its error.
    ignoreRejection(super[verb](key, (context) => repeat(loaded, context), rest))
    const aborted = new Promise<never>((_never, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    return (await Promise.race([loaded.then(valueOf).then(answerOf), aborted]).catch((error: unknown) => {
      throw errorForCallers(error)
    })) as Given<S, T>
  }
}

/** Repeats the end of a load with a placeholder for its value. */
async function repeat(loaded: Promise<LoadRun>, context: LoadContext): Promise<unknown> {
  const ended = await loaded
  if (ended.state === 'pass') context.doNotStore(ended.passFor)
  if (ended.state === 'value') {
    context.ttl(ended.ttl)
    context.grace(ended.grace)
    context.tags(...ended.tags)
  }
  return placeholderOf(valueOf(ended))
}

/** The options of a call whose value becomes a placeholder, which passes no schema. */
function ofPlaceholders<T extends SetOptions | CallOptions>(options: (T & ValueOptions) | undefined): T {
  const { schema: _, migrate: _migrate, ...rest }: Partial<T & ValueOptions> = options === undefined ? {} : options
  return rest as T
}

/** `null` and `undefined` stay themselves, because they may have their own ttls. */
function placeholderOf(value: unknown): unknown {
  return value === null || value === undefined ? value : true
}

/** The value of a load; throws its error if it has none. */
function valueOf(loaded: LoadRun): unknown {
  if (loaded.state === 'failed' || loaded.state === 'lost') throw loaded.error
  return loaded.value
}
