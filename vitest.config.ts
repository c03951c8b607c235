import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The longest file first, beside which all others run: at the end it would run alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLongest = ({ project }: TestSpecification): boolean => project.name === 'spec'
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))]
  }
}

type Options = NonNullable<TestProjectInlineConfiguration['test']>

const frames = ['koa', 'fastify', 'hono'] as const

/** The suites of `http` that ask nothing but what is answered over the wire, and so can be run in each frame. */
const overTheWire = 'attacks behaviour collapsing conditions freshness invalidation per-request streaming variants'.split(' ')

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
      ...frames.map((frame) => suiteInFrame(frame, `http-${frame}`, overTheWire)),
      suiteWithRedis('docs'),
      // After all the others: what is killed and frozen here is judged by the clock.
      suiteWithRedis('chaos', { maxWorkers: 2, sequence: { groupOrder: 1 } }),
      // One by one, and after those: http-cache-tests is about whole seconds, of which a busy machine loses some.
      ...frames.map((frame) =>
        suiteInFrame(frame, `conformance-${frame}`, ['conformance/conformance'], {
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        }),
      ),
    ],
    // The servers of a test need processors too, and two is all that a small machine has.
    maxWorkers: 2,
    // Of those tests of a file that may run side by side, each of which has a fleet.
    maxConcurrency: 2,
    sequence: { sequencer: LongestFirst },
    // A test that fails once has found something.
    retry: 0,
  },
})

/** The tests in one folder. `npm test` complains of tests in a folder that is not named here. */
function suite(name: string, options: Options): TestProjectInlineConfiguration {
  return { extends: true, test: { ...options, name, include: [`test/${name}/**/*.test.ts`], pool: 'forks' } }
}

/** Suites of `http` with another framework before their handlers. */
function suiteInFrame(
  frame: (typeof frames)[number],
  name: string,
  suites: readonly string[],
  options: Options = {},
): TestProjectInlineConfiguration {
  const http = suiteWithRedis('http', { provide: { frame }, ...options })
  return { ...http, test: { ...http.test, name, include: suites.map((each) => `test/http/${each}.test.ts`) } }
}

/** The tests in one folder that need a Redis, and are given one. */
function suiteWithRedis(name: string, options: Options = {}): TestProjectInlineConfiguration {
  const globalSetup = 'test/support/given-redis.ts'
  return suite(name, { testTimeout: 30_000, hookTimeout: 60_000, globalSetup, ...options })
}
