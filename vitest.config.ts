import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

type Options = NonNullable<TestProjectInlineConfiguration['test']>

export default defineConfig({
  test: {
    projects: [
      suite('unit', { testTimeout: 5_000 }),
      suite('simulation', { testTimeout: 120_000 }),
      // The first run fetches spin; a search takes a minute or two on a small machine that does other work too.
      suite('spec', { testTimeout: 600_000, hookTimeout: 300_000 }),
      suiteWithRedis('contract'),
      suiteWithRedis('property'),
      suiteWithRedis('integration'),
      suiteWithRedis('locks'),
      suiteWithRedis('http', { provide: { frame: 'express' } }),
      ...(['koa', 'fastify', 'hono'] as const).map(suiteInFrame),
      suiteWithRedis('docs'),
      // After all the others: what is killed and frozen here is judged by the clock.
      suiteWithRedis('chaos', { maxWorkers: 2, sequence: { groupOrder: 1 } }),
    ],
    // The servers of a test need processors too, and two is all that a small machine has.
    maxWorkers: 2,
    // Of those tests of a file that may run side by side, each of which has a fleet.
    maxConcurrency: 2,
    // A test that fails once has found something.
    retry: 0,
  },
})

/** The tests in one folder. `npm test` complains of tests in a folder that is not named here. */
function suite(name: string, options: Options): TestProjectInlineConfiguration {
  return { extends: true, test: { ...options, name, include: [`test/${name}/**/*.test.ts`], pool: 'forks' } }
}

/** The suites of `http` that ask nothing but what is answered over the wire, with another framework before their handlers. */
function suiteInFrame(frame: 'koa' | 'fastify' | 'hono'): TestProjectInlineConfiguration {
  const suites = 'attacks behaviour collapsing conditions freshness invalidation streaming variants'.split(' ')
  const include = [...suites.map((each) => `test/http/${each}.test.ts`), 'test/http/conformance/conformance.test.ts']
  const http = suiteWithRedis('http', { provide: { frame } })
  return { ...http, test: { ...http.test, name: `http-${frame}`, include } }
}

/** The tests in one folder that need a Redis, and are given one. */
function suiteWithRedis(name: string, options: Options = {}): TestProjectInlineConfiguration {
  const globalSetup = 'test/support/given-redis.ts'
  return suite(name, { testTimeout: 30_000, hookTimeout: 60_000, globalSetup, ...options })
}
