import { defineConfig, type TestProjectConfiguration } from 'vitest/config'

/** The suites that need a Redis: each is given one of its own, see test/support/given-redis.ts. */
const withRedis = ['contract', 'integration', 'property', 'http', 'chaos']

export default defineConfig({
  test: {
    projects: [
      suite('unit', { testTimeout: 5_000 }),
      ...withRedis.map((name) => suite(name, { testTimeout: 30_000, hookTimeout: 60_000, globalSetup: 'test/support/given-redis.ts' })),
    ],
    // The servers of a test need processors too, and two is all that a small machine has.
    maxWorkers: 2,
    // A test that fails once has found something.
    retry: 0,
  },
})

function suite(name: string, options: TestProjectConfiguration['test']): TestProjectConfiguration {
  return { extends: true, test: { ...options, name, include: [`test/${name}/**/*.test.ts`], pool: 'forks' } }
}
