import { loadContexts, type LoadNode } from '../flight/circular-load.ts'
import { TickBatch } from '../time/clock.ts'
import { formatValue } from '../time/duration.ts'
import { CacheError, isError } from '../errors.ts'
import { checkKey } from '../entry/key.ts'
import { loadFailure } from '../codec/load-failures.ts'
import type { LoadContext, Loader } from '../flight/loader.ts'
import type { ReadResult } from '../flight/reads.ts'

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

/** What a cache does for one of several keys. */
interface Asking<In, Out> {
  /** Reads all keys in as few commands as possible; `null` if each is to be read for itself. */
  readonly readAll: (keys: readonly string[]) => Promise<ReadResult[] | null> | null
  /** The value of a read, if that is the answer; else `ask`s for the key, which was read already. */
  readonly take: (key: string, loader: Loader<In>, read: ReadResult) => Promise<Out> | { readonly value: Out }
  /** Requests a key. */
  readonly ask: (key: string, loader: Loader<In>) => Promise<Out>
}

/** See `Cache.getOrLoadMany`. */
export async function loadTogether<In, Out>(
  keys: readonly string[],
  loadMany: BatchLoader<In>,
  { readAll, take, ask }: Asking<In, Out>,
): Promise<(Out | Error)[]> {
  if (!Array.isArray(keys)) throw new TypeError(`Expected an array of keys, got ${formatValue(keys)}`)
  for (const key of keys as readonly unknown[]) checkKey(key)
  if (typeof loadMany !== 'function')
    throw new TypeError(`Expected loadMany to be a function, got ${formatValue(loadMany)}`)
  const batches = new Batches(loadMany)
  const loader: Loader<In> = (context) => batches.load(context)
  const reading = readAll(keys)
  const reads = reading === null ? null : await reading
  const answers: (Out | Error)[] = []
  const waited: Promise<void>[] = []
  for (const [index, key] of (keys as readonly string[]).entries()) {
    const read = reads?.[index]
    const answer = read === undefined ? ask(key, loader) : take(key, loader, read)
    if (!(answer instanceof Promise)) answers[index] = answer.value
    else waited.push(settledInto(answers, index, answer))
  }
  for (const ended of await Promise.allSettled(waited)) if (ended.status === 'rejected') throw ended.reason
  return answers
}

async function settledInto<Out>(answers: (Out | Error)[], index: number, answer: Promise<Out>): Promise<void> {
  answers[index] = await answer.catch(failureOf)
}

/** The error of one key; throws what is no failure of a load, such as the reason of the signal. */
function failureOf(error: unknown): Error {
  if (error instanceof CacheError || loadFailure(error) !== undefined) return error as Error
  throw error
}
