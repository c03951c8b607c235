import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take more than a minute, the longest first. */
const longest =
  'spec/lease chaos/refusals chaos/redis docs/examples property/door locks/harmed simulation/seeds chaos/sentinel chaos/cluster chaos/network'.split(
    ' ',
  )

/** The longest files first, beside which all others run: at the end they would run alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = longest.findIndex((file) => moduleId.endsWith(`test/${file}.test.ts`))
      return index < 0 ? longest.length : index
    }
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}

type Options = NonNullable<TestProjectInlineConfiguration['test']>

const frames = ['koa', 'fastify', 'hono'] as const

/**
 * Files of a folder that do not run in `npm test`, for they take long, and what they find is rarely broken by a change elsewhere: each is a
 * project of its own, `<folder>-more`.
 */
const more = {
  // The same suite as that of one server or one lock, on servers that take their time to start, and with each setting of a client.
  contract: 'redis-cluster redis-lock-cluster redis-sentinel redis-settings postgres-lock zookeeper-lock',
  // Faults by the minute, crowds, what starts servers, what the doctor says of each, and other backends.
  integration:
    'after-commit crowd doctor doctor-judgement doctor-problems doctor-rights doctor-topology ended-leases expired foreign holder invalidation-storm network ' +
    'outage postgres-lock production servers servers-failover servers-faults servers-network topology wake-up warnings zookeeper-ensemble zookeeper-lock',
  // Apps with each library on each framework, clients that read slowly, the prototypes of node:http, and how V8 keeps its messages, which
  // depends on all that a process has done before.
  http: 'identity/* conformance/* create-server fast-messages leader fuzz processes query',
  // Programs that are run one by one, and users with each right taken away.
  docs: 'acl examples lock-acl',
} as const

/** Express and other libraries change node:http for the whole process, so each file with such tests has its own. */
const ownProcess = { isolate: true } as const

/** The suites of `http` that ask nothing but what is answered over the wire, and so can be run in each frame. */
const overTheWire =
  'attacks behaviour collapsing conditions freshness invalidation per-request streaming variants'.split(' ')

/**
 * The suites of `integration` and `chaos` that run once more on node-redis, by the same files: those of `integration` that take long in a
 * project of their own, and of `chaos` the replies that are lost. `npm run chaos -- --client node-redis` plays all.
 */
const onNodeRedis = {
  quick: 'near start tags',
  more:
    'crowd doctor doctor-problems doctor-rights doctor-topology explain invalidation many-keys network outage stampede topology unavailable ' +
    'wake-up',
  chaos: 'replies',
} as const

/** After all the others, and with little beside it: what is killed and frozen here is judged by the clock. */
const atTheEnd = { maxWorkers: 2, sequence: { groupOrder: 1 } } as const

export default defineConfig({
  test: {
    projects: [
      suite('unit', { testTimeout: 30_000 }),
      suite('simulation', { testTimeout: 120_000 }),
      // The first run fetches spin; a search takes a minute or two on a small machine that does other work too.
      suite('spec', { testTimeout: 600_000, hookTimeout: 300_000 }),
      suiteWithRedis('property'),
      // Its fleets wait for their leases most of the time.
      suiteWithRedis('locks', { maxConcurrency: 4 }),
      ...inTwo('contract'),
      ...inTwo('integration'),
      suiteOnNodeRedis('integration', 'integration-node-redis', onNodeRedis.quick),
      suiteOnNodeRedis('integration', 'integration-node-redis-more', onNodeRedis.more),
      ...inTwo(
        'http',
        { provide: { frame: 'express' } },
        { ...ownProcess, exclude: ['test/http/conformance/conformance.test.ts'] },
      ),
      ...inTwo('docs'),
      // Counts bytes of the heap, so it is alone in its process and may collect garbage.
      suiteWithRedis('bench', { isolate: true, execArgv: ['--expose-gc'] }),
      // Apps that use the packed package as their users do.
      suite('apps', { testTimeout: 60_000, hookTimeout: 60_000, globalSetup: 'test/apps/given-package.ts' }),
      ...frames.map((frame) => suiteInFrame(frame, `http-${frame}`, overTheWire)),
      // The page of the lab in a browser; the first run fetches Chromium.
      suite('lab', { testTimeout: 90_000, hookTimeout: 240_000 }),
      // The documentation as a site, in a browser; the first run installs the generator.
      suite('site', { testTimeout: 90_000, hookTimeout: 240_000 }),
      suiteWithRedis('chaos', atTheEnd),
      suiteOnNodeRedis('chaos', 'chaos-node-redis', onNodeRedis.chaos, atTheEnd),
      // One by one, and after those: http-cache-tests is about whole seconds, of which a busy machine loses some.
      ...(['express', ...frames] as const).map((frame) =>
        suiteInFrame(frame, `conformance-${frame}`, ['conformance/conformance'], {
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        }),
      ),
    ],
    // Three keep two processors busy with tests that wait for their servers half of the time.
    maxWorkers: 3,
    // Of those tests of a file that may run side by side, each of which has a fleet.
    maxConcurrency: 2,
    sequence: { sequencer: LongestFirst },
    // A test that fails once has found something.
    retry: 0,
  },
})

/** The tests in one folder. `npm test` complains of tests in a folder that is not named here. */
function suite(name: string, options: Options): TestProjectInlineConfiguration {
  // A worker loads the library once for all its files.
  const include = [`test/${name}/**/*.test.ts`]
  return { extends: true, test: { pool: 'forks', isolate: false, include, ...options, name } }
}

/** Suites of `http` with a framework before their handlers. */
function suiteInFrame(
  frame: 'express' | (typeof frames)[number],
  name: string,
  suites: readonly string[],
  options: Options = {},
): TestProjectInlineConfiguration {
  const http = suiteWithRedis('http', { provide: { frame }, ...options })
  return { ...http, test: { ...http.test, name, include: suites.map((each) => `test/http/${each}.test.ts`) } }
}

/** Suites of a folder with clients of node-redis. */
function suiteOnNodeRedis(
  folder: string,
  name: string,
  suites: string,
  options: Options = {},
): TestProjectInlineConfiguration {
  const include = suites.split(' ').map((each) => `test/${folder}/${each}.test.ts`)
  const all = suiteWithRedis(folder, { ...options, env: { REDIS_CLIENT: 'node-redis' } })
  return { ...all, test: { ...all.test, name, include } }
}

/** The tests in one folder, and those among them that take long. @param ofMore options of the latter */
function inTwo(name: keyof typeof more, options: Options = {}, ofMore: Options = {}): TestProjectInlineConfiguration[] {
  const all = suiteWithRedis(name, options)
  const long = more[name].split(' ').map((each) => `test/${name}/${each}.test.ts`)
  return [
    { ...all, test: { ...all.test, exclude: long } },
    { ...all, test: { ...all.test, ...ofMore, name: `${name}-more`, include: long } },
  ]
}

/** The tests in one folder that need a Redis, and are given one. */
function suiteWithRedis(name: string, options: Options = {}): TestProjectInlineConfiguration {
  const globalSetup = 'test/support/given-redis.ts'
  return suite(name, { testTimeout: 30_000, hookTimeout: 60_000, globalSetup, ...options })
}
