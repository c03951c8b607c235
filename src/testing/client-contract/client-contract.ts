import { commands, connection } from './client-commands.ts'
import { messages } from './client-messages.ts'
import { ClientScene, type OpenedClient } from './client-scene.ts'

export type { OpenedClient } from './client-scene.ts'

/** An adapter under test, and the test framework. */
export interface ClientContract {
  /** The name of the client, which begins the name of each test. */
  readonly name: string
  /** Declares a test: `test` of Vitest, of Jest or of `node:test`, or `it` of Mocha. */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** Opens a client for one test. Its server need not be empty: every test uses keys and channels of its own. */
  readonly open: () => Promise<OpenedClient>
  /**
   * How long a test waits for an expected event, in milliseconds; time in which the process is blocked does not count.
   * Default 5000.
   */
  readonly timeout?: number
}

/**
 * Declares the suite that the adapter of a Redis client (`RedisPort` of `herdless/redis`) must pass, in your test
 * framework, as `storeContract` does. An adapter that passes it is a client for `redisStore`, `redisLock` and `redlock`.
 * @throws TypeError if an option is missing
 */
export function clientContract(options: ClientContract): void {
  const { name, test, open, timeout = 5_000 } = options
  if (typeof test !== 'function' || typeof open !== 'function') {
    throw new TypeError('Expected `test` and `open` of clientContract to be functions')
  }
  for (const { title, run, isFresh = false } of [...commands, ...connection, ...messages]) {
    test(`${name}: ${title}`, async () => {
      const scene = await ClientScene.open(open, { timeout, isFresh })
      try {
        await run(scene)
      } finally {
        await scene.close()
      }
    })
  }
}
