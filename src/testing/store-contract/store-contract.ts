import { caches, nearCaches } from './caches.ts'
import { claims } from './claims.ts'
import { copies } from './copies.ts'
import { endings } from './endings.ts'
import { brokenLeases, inspection, listedLeases } from './inspection.ts'
import { keys } from './keys.ts'
import { lostLeases } from './lost-leases.ts'
import { overwrites } from './overwrites.ts'
import { permits } from './permits.ts'
import { Scene, type OpenStores } from './scene.ts'
import { soft } from './soft.ts'
import { tags } from './tags.ts'
import { values } from './values.ts'
import { askedAgain, outcomes } from './waits.ts'

export type { OpenStores } from './scene.ts'

/** A store under test, and the test framework. */
export interface StoreContract {
  /** The name of the store, which begins the name of each test. */
  readonly name: string
  /** Declares a test: `test` of Vitest, of Jest or of `node:test`, or `it` of Mocha. */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** Opens stores for one test. Each test opens its own. They need not be empty: every test uses keys of its own. */
  readonly open: () => Promise<OpenStores>
  /**
   * Whether the store pushes outcomes and losses to waiters and holders (`pushed` is true in its answers). Default
   * true. Without it, messages are not tested, and asking again is.
   */
  readonly pushes?: boolean
  /** Whether the store notifies copies (`watch`). Default: as `pushes`. */
  readonly watches?: boolean
  /** Whether the store has the `permits` of sources. Default true. */
  readonly limits?: boolean
  /**
   * The extent of its `inspection`: `'all'` (default), `'keys'` without the listing of leases, or `'nothing'`. The rest
   * is not tested.
   */
  readonly inspects?: 'all' | 'keys' | 'nothing'
  /**
   * How long a test waits for an expected event, in milliseconds; time in which the process is blocked does not count.
   * Default 5000.
   */
  readonly timeout?: number
}

/**
 * Declares the suite that every `Store` must pass, for authors of stores. It knows no test framework: it declares its
 * tests through yours, and a failing test throws an `AssertionError` of Node.js.
 *
 *     import { test } from 'node:test'
 *     import { storeContract } from 'herdless/testing'
 *
 *     storeContract({
 *       name: 'my store',
 *       test,
 *       open: async () => {
 *         const clients = [connect(), connect()]
 *         return {
 *           stores: clients.map((client) => myStore(client)),
 *           close: async () => clients.forEach((client) => client.end()),
 *         }
 *       },
 *     })
 *
 * Run it against a real server: a mock has none of the bugs that the suite looks for. Tests may run in parallel. They
 * wait for events instead of fixed times, so the whole suite takes a few seconds. A `(rule n)` in a name is a rule of
 * the protocol, see `docs/protocol.md`.
 * @throws TypeError if an option is missing
 */
export function storeContract(options: StoreContract): void {
  const {
    name,
    test,
    open,
    pushes = true,
    watches = pushes,
    limits = true,
    inspects = 'all',
    timeout = 5_000,
  } = options
  if (typeof test !== 'function' || typeof open !== 'function') {
    throw new TypeError('Expected `test` and `open` of storeContract to be functions')
  }
  const all = [
    claims,
    endings,
    lostLeases,
    overwrites,
    values,
    tags,
    soft,
    keys,
    pushes ? outcomes : askedAgain,
    limits ? permits : [],
    watches ? copies : [],
    watches ? nearCaches : [],
    caches,
    inspects === 'nothing' ? [] : inspection,
    inspects !== 'nothing' && pushes ? brokenLeases : [],
    inspects === 'all' ? listedLeases : [],
  ].flat()
  for (const { title, run } of all) {
    test(`${name}: ${title}`, async () => {
      const scene = await Scene.open(open, { pushes, timeout })
      try {
        await run(scene)
      } finally {
        await scene.close()
      }
    })
  }
}
