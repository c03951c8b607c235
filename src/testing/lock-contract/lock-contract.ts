import { fences, holding } from './lock-holding.ts'
import { LockScene, type OpenLocks } from './lock-scene.ts'
import { order, waiting } from './lock-waiting.ts'

export type { OpenLocks } from './lock-scene.ts'

/** A lock under test, and the test framework. */
export interface LockContract {
  /** The name of the lock, which begins the name of each test. */
  readonly name: string
  /** Declares a test: `test` of Vitest, of Jest or of `node:test`, or `it` of Mocha. */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** Opens locks for one test. Each test opens its own, and closes them. */
  readonly open: () => Promise<OpenLocks>
  /** Whether its leases have fencing tokens. Default true. */
  readonly fences?: boolean
  /** Whether it can keep the order of waiters. Default true. */
  readonly fair?: boolean
  /**
   * How long a test waits for an expected event, in milliseconds; time in which the process is blocked does not count.
   * Default 10000.
   */
  readonly timeout?: number
}

/**
 * Declares the suite that every `Lock` must pass in your test framework, as `storeContract` does.
 * @throws TypeError if an option is missing
 */
export function lockContract(options: LockContract): void {
  const { name, test, open, fences: fenced = true, fair = true, timeout = 10_000 } = options
  if (typeof test !== 'function' || typeof open !== 'function') {
    throw new TypeError('Expected `test` and `open` of lockContract to be functions')
  }
  const all = [holding, fenced ? fences : [], waiting, fair ? order : []].flat()
  for (const { title, run } of all) {
    test(`${name}: ${title}`, async () => {
      const scene = await LockScene.open(open, { fair, timeout })
      try {
        await run(scene)
      } finally {
        await scene.close()
      }
    })
  }
}
