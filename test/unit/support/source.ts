import type { LoadContext, Loader } from '../../../src/core/load/loader.ts'

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
}
