import { fences, holding } from './lock-holding.ts'
import { LockScene, type OpenLocks } from './lock-scene.ts'
import { order, waiting } from './lock-waiting.ts'

export type { OpenLocks } from './lock-scene.ts'

/** A lock to be tested, and where its tests are to be declared. */
export interface LockContract {
  /** What the lock is called; it stands before the name of each test. */
  readonly name: string
  /** Declares a test: `test` of Vitest, of Jest or of `node:test`, or `it` of Mocha. */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** Opens locks for one test; each test opens its own, and closes them. */
  readonly open: () => Promise<OpenLocks>
  /** Whether its leases have fences. Default true. */
  readonly fences?: boolean
  /** Whether it can keep the order of those who wait. Default true. */
  readonly fair?: boolean
  /** How long a test waits for what must happen before it fails, in milliseconds. Default 10000. */
  readonly patience?: number
}

/**
 * The suite that every `Lock` must pass, declared through your test framework, as `storeContract` is.
 * @throws TypeError when an option is missing
 */
export function lockContract(options: LockContract): void {
  const { name, test, open, fences: fenced = true, fair = true, patience = 10_000 } = options
  if (typeof test !== 'function' || typeof open !== 'function') {
    throw new TypeError('Expected `test` and `open` of lockContract to be functions')
  }
  const all = [holding, fenced ? fences : [], waiting, fair ? order : []].flat()
  for (const { title, run } of all) {
    test(`${name}: ${title}`, async () => {
      const scene = await LockScene.open(open, { fair, patience })
      try {
        await run(scene)
      } finally {
        await scene.close()
      }
    })
  }
}
