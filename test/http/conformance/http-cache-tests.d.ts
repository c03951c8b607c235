/** What is used of it; it has no types of its own. */
declare module 'http-cache-tests/tests/index.mjs' {
  export interface Test {
    readonly id: string
    readonly name: string
    /** Left out where it is required. */
    readonly kind?: 'required' | 'optimal' | 'check'
    /** The other tests without which this one says nothing. */
    readonly depends_on?: readonly string[]
    readonly browser_only?: boolean
    readonly requests: readonly { readonly pause_after?: boolean }[]
    /** Whether the requests and responses are printed, by the client and by the origin. */
    dump?: boolean
  }

  export interface Suite {
    readonly id: string
    readonly name: string
    readonly tests: readonly Test[]
  }

  const suites: readonly Suite[]
  export default suites
}

declare module 'http-cache-tests/client/runner.mjs' {
  import type { Suite } from 'http-cache-tests/tests/index.mjs'

  /** True where the test passed, else the name and the message of the error. */
  export type Answers = Readonly<Record<string, true | readonly [name: string, message: string]>>

  export function runTests(
    suites: readonly Suite[],
    fetch: (url: string, init: object) => Promise<unknown>,
    browserCache: boolean,
    baseUrl: string,
    chunkSize: number,
  ): Promise<void>
  export function getResults(): Answers
}

declare module 'http-cache-tests/lib/display.mjs' {
  import type { Answers } from 'http-cache-tests/client/runner.mjs'
  import type { Suite } from 'http-cache-tests/tests/index.mjs'

  export function determineTestResult(
    suites: readonly Suite[],
    id: string,
    answers: Answers,
    honorDependencies: boolean,
  ): readonly [icon: string, colour: string, symbol: string]
}
