import { loadContexts, type LoadNode } from '../flight/circular-load.ts'
import { TickBatch } from '../time/clock.ts'
import { formatValue } from '../time/duration.ts'
import { CacheError, isError } from '../errors.ts'
import type { AnswerFacts } from '../entry/freshness.ts'
import { checkKeys, type Keyspace } from '../entry/key.ts'
import { loadFailure } from '../codec/load-failures.ts'
import type { LoadContext, Loader } from '../flight/loader.ts'
import type { Loaded } from './cache.ts'

/**
 * Gets the values of several keys from the source, in their order. An `Error` in place of a value is the failure of
 * that key. Each key has its own context.
 */
export type BatchLoader<T> = (
  keys: readonly string[],
  contexts: readonly LoadContext[],
) => readonly (T | Error)[] | Promise<readonly (T | Error)[]>

interface Wanted<T> {
  readonly context: LoadContext
  /** The load of its key. */
  readonly load: LoadNode | null
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

/** Collects the loads that begin in one tick, and runs them with one loader call. */
class Batches<T> {
  readonly #loader: BatchLoader<T>
  readonly #thisTick = new TickBatch<Wanted<T>>((wanted) => this.#run(wanted))

  constructor(loader: BatchLoader<T>) {
    this.#loader = loader
  }

  /** Loads one key together with the others of its tick. */
  load(context: LoadContext): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#thisTick.add({ context, load: loadContexts.current, resolve, reject })
    })
  }

  #run(wanted: readonly Wanted<T>[]): void {
    const [first] = wanted
    // The loader runs in the context of the first load, so the other loads wait for whatever it waits for.
    for (const { load } of wanted) {
      if (first?.load && load !== first.load) load?.waitsFor.add({ to: first.load })
    }
    const contexts = wanted.map(({ context }) => context)
    const run = async (): Promise<readonly (T | Error)[]> => {
      const values = await this.#loader(
        contexts.map(({ key }) => key),
        contexts,
      )
      if (Array.isArray(values) && values.length === contexts.length) return values as readonly (T | Error)[]
      const got = Array.isArray(values) ? `one of ${values.length}` : formatValue(values)
      throw new TypeError(`Expected loadMany to return an array of ${contexts.length} values, got ${got}`)
    }
    run().then(
      (values) => {
        for (const [index, { resolve, reject }] of wanted.entries()) {
          const value = values[index] as T | Error
          if (isError(value)) reject(value)
          else resolve(value)
        }
      },
      (error: unknown) => {
        for (const { reject } of wanted) reject(error)
      },
    )
  }
}

/**
 * See `Cache.getOrLoadMany`.
 * @param askAll requests the keys, each with a loader
 */
export async function loadTogether<In, Out>(
  keys: readonly string[],
  loadMany: BatchLoader<In>,
  askAll: (loader: Loader<In>) => Promise<PromiseSettledResult<unknown>[]>,
): Promise<(Out | Error)[]> {
  checkKeys(keys)
  if (typeof loadMany !== 'function')
    throw new TypeError(`Expected loadMany to be a function, got ${formatValue(loadMany)}`)
  const batches = new Batches(loadMany)
  const answers = await askAll((context) => batches.load(context))
  return answers.map((answer) => {
    if (answer.status === 'fulfilled') return answer.value as Out
    if (answer.reason instanceof CacheError || loadFailure(answer.reason) !== undefined) return answer.reason as Error
    throw answer.reason
  })
}

/** An entry without the tags that this library has added: of prefixes, and of versions. */
export function loadedOf<T>(answer: AnswerFacts & { readonly value: unknown }, keyspace: Keyspace): Loaded<T> {
  return { ...answer, value: answer.value as T, tags: keyspace.ownTags(answer.tags) }
}
