import type { LoadContext, Loader } from '../../../src/core/flight/loader.ts'
import type { Cache, CallOptions } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, asked } from './answer.ts'

/** One run of a loader; it goes on until the test ends it. */
export interface Run<T> {
  readonly context: LoadContext
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

/** A source that answers when the test says so. */
export class Source<T = unknown> {
  readonly runs: Run<T>[] = []

  readonly loader: Loader<T> = (context) =>
    new Promise<T>((resolve, reject) => {
      this.runs.push({ context, resolve, reject })
    })

  /** The run of this number, from 0; it must have begun. */
  run(index: number): Run<T> {
    const run = this.runs[index]
    if (run === undefined) throw new Error(`Expected run ${index} of the loader, it has run ${this.runs.length} times`)
    return run
  }

  /** Ends a run with a value; resolves when everything has happened that follows before time passes. */
  async resolve(index: number, value: T): Promise<void> {
    this.run(index).resolve(value)
    await settled()
  }

  /** Ends a run with an error, likewise. */
  async reject(index: number, error: unknown): Promise<void> {
    this.run(index).reject(error)
    await settled()
  }
}

/** A function that throws this, such as a loader. */
export function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown
  }
}

/** A loader that must not run. */
export function never(): never {
  throw new Error('the loader ran')
}

/** A call for the key `k` of which the load is under way, until the test ends run 0 of the source. */
export async function loading(cache: Cache, options?: CallOptions) {
  const source = new Source<string>()
  return { source, answer: await asked(cache.getOrLoad<string>('k', source.loader, options)) }
}

/** The same for one call of each of these caches, at once. */
export async function allLoading(caches: readonly Cache[]) {
  const source = new Source<string>()
  const answers = await allAsked(caches.map((cache) => cache.getOrLoad<string>('k', source.loader)))
  return { source, answers }
}
