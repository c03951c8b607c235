import { caches, nearCaches } from './caches.ts'
import { claims } from './claims.ts'
import { copies } from './copies.ts'
import { endings } from './endings.ts'
import { brokenLeases, inspection, listedLeases } from './inspection.ts'
import { keys } from './keys.ts'
import { lostLeases } from './lost-leases.ts'
import { overwrites } from './overwrites.ts'
import { Scene, type OpenStores } from './scene.ts'
import { tags } from './tags.ts'
import { values } from './values.ts'
import { askedAgain, outcomes } from './waits.ts'

export type { OpenStores } from './scene.ts'

/** A store to be tested, and where its tests are to be declared. */
export interface StoreContract {
  /** What the store is called; it stands before the name of each test. */
  readonly name: string
  /** Declares a test: `test` of Vitest, of Jest or of `node:test`, or `it` of Mocha. */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** Opens stores for one test; each test opens its own. They need not be empty: every test makes up its own keys. */
  readonly open: () => Promise<OpenStores>
  /**
   * Whether the store tells those who wait, and holders, what happens (`pushed` is true in its answers). Default true.
   * With false, what only a message could tell is not tested, and asking again is.
   */
  readonly pushes?: boolean
  /** Whether it tells whoever keeps copies what goes (`watch`). Default: as `pushes`. */
  readonly watches?: boolean
  /**
   * What operators may ask (`inspection`): `'all'` (default); `'keys'`, so that leases are not listed; or `'nothing'`.
   * What may not be asked is not tested.
   */
  readonly inspects?: 'all' | 'keys' | 'nothing'
  /** How long a test waits for what must happen before it fails, in milliseconds. Default 5000. */
  readonly patience?: number
}

/**
 * The suite that every `Store` must pass, for those who write one. It knows no test framework: it declares its tests
 * through yours, and throws an `AssertionError` of Node.js where one fails.
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
 * Run it against the real thing: a mock of a server has none of the bugs that the suite looks for. Tests may run side
 * by side. They wait for what must happen and never for a guess, so the whole of it takes a few seconds. A `(rule n)` in
 * a name is a rule of the protocol, see `docs/protocol.md`.
 * @throws TypeError when an option is missing
 */
export function storeContract(options: StoreContract): void {
  const { name, test, open, pushes = true, watches = pushes, inspects = 'all', patience = 5_000 } = options
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
    keys,
    pushes ? outcomes : askedAgain,
    watches ? copies : [],
    watches ? nearCaches : [],
    caches,
    inspects === 'nothing' ? [] : inspection,
    inspects !== 'nothing' && pushes ? brokenLeases : [],
    inspects === 'all' ? listedLeases : [],
  ].flat()
  for (const { title, run } of all) {
    test(`${name}: ${title}`, async () => {
      const scene = await Scene.open(open, { pushes, patience })
      try {
        await run(scene)
      } finally {
        await scene.close()
      }
    })
  }
}
