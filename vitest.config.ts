import { readFileSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { suites } from './tools/suites.mjs'

type Options = NonNullable<TestProjectInlineConfiguration['test']>

/** Files that take long, the longest first. */
const longest =
  'spec/lease chaos/refusals chaos/redis docs/blocks property/door locks/harmed integration/purge docs/examples simulation/seeds chaos/sentinel chaos/cluster'.split(
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

/** Files by folder, in the first project that names them: the first project of a folder has the rest of it. */
const files = {
  contract: {
    'contract-servers': 'cluster sentinel redlock',
    'contract-all': 'cluster sentinel wrappers-on-redis postgres-lock zookeeper-lock',
  },
  integration: {
    // Processes with faults that heal within seconds, and the command.
    'integration-landing':
      'clock command dead-source explain invalidation lock-time lost-copies monitoring node-redis otel purge secrets shutdown sources strangers unavailable watch',
    // Faults by the minute, crowds, what starts servers, what the doctor says of each, and other backends.
    'integration-all':
      'after-commit cluster-holder crowd doctor doctor-judgement doctor-problems doctor-rights doctor-topology ended-leases expired foreign holder invalidation-storm ' +
      'network outage postgres-lock production redlock servers servers-failover servers-faults servers-network topology wake-up warnings zookeeper-ensemble ' +
      'zookeeper-lock',
  },
  http: {
    'http-landing':
      'attacks attacks/raw collapsing fast-messages fastify fuzz head hono http2 koa leader lines processes query',
    // Each has projects of its own.
    identity: 'identity/*',
    conformance: 'conformance/*',
  },
  docs: { 'docs-run': 'blocks examples', rights: 'acl lock-acl' },
} as const

/** The suites of `http` that ask nothing but what is answered over the wire, and so can be run in each frame. */
const overTheWire = 'attacks behaviour collapsing conditions freshness invalidation per-request streaming variants'
const frames = ['koa', 'fastify', 'hono'] as const
const conformingFrames = [...frames, 'fetch'] as const

/** The suites that run once more on node-redis, by the same files. `npm run chaos -- --client node-redis` plays all scenarios. */
const onNodeRedis = {
  landing: 'near start stampede tags',
  nightly:
    'cluster-holder crowd doctor doctor-problems doctor-rights doctor-topology explain invalidation many-keys network outage topology unavailable wake-up',
}

/** The suites that run once more on the oldest supported majors. */
const onOlder = {
  contract: 'redis-store redis-clients redis-lock cluster sentinel redlock',
  integration: 'batch node-redis secrets shutdown unavailable start',
  http: 'cached-server fastify head hono http2 inject koa leader lines neighbours query',
}

/** Express and other libraries change node:http for the whole process, so each file with such tests has its own. */
const ownProcess = { isolate: true } as const

/** After all the others, and with little beside it: by night, faults and http-cache-tests are judged by the clock, too. */
const byTwo = { maxWorkers: 2, sequence: { groupOrder: 1 } } as const
const oneByOne = { maxWorkers: 1, sequence: { groupOrder: 2 } } as const

const thorough = { env: { THOROUGH: 'yes' } } as const

const projects: TestProjectInlineConfiguration[] = [
  suite('unit', 'unit', ['**/*']),
  ...folder('contract'),
  withRedis('contract-all', 'contract', names(files.contract['contract-all']), { env: { EVERY_CLIENT: 'yes' } }),
  ...folder('integration'),
  withRedis('integration-node-redis', 'integration', names(onNodeRedis.landing), {
    env: { REDIS_CLIENT: 'node-redis' },
  }),
  withRedis('integration-node-redis-all', 'integration', names(onNodeRedis.nightly), {
    env: { REDIS_CLIENT: 'node-redis' },
  }),
  ...folder('http', { provide: { frame: 'express' } }, ownProcess),
  withRedis('identity', 'http', ['identity/*'], { provide: { frame: 'express' }, ...ownProcess }),
  ...frames.map((frame) => withRedis(`http-${frame}`, 'http', names(overTheWire), { provide: { frame } })),
  withRedis('conformance-express', 'http', ['conformance/*'], { provide: { frame: 'express' } }),
  withRedis('conformance-express-all', 'http', ['conformance/conformance'], {
    ...thorough,
    ...oneByOne,
    provide: { frame: 'express' },
  }),
  ...conformingFrames.map((frame) =>
    withRedis(`conformance-${frame}`, 'http', ['conformance/conformance'], { ...oneByOne, provide: { frame } }),
  ),
  ...folder('docs'),
  withRedis('docs-run-all', 'docs', ['blocks', 'examples'], thorough),
  onOldest('contract-older', 'contract', onOlder.contract, { EVERY_CLIENT: 'yes' }),
  onOldest('integration-older', 'integration', onOlder.integration),
  onOldest('http-older', 'http', onOlder.http),
  onOldest('identity-older', 'http', 'identity/*'),
  suite('simulation', 'simulation', ['*']),
  suite('simulation-all', 'simulation', ['seeds'], thorough),
  suite('model', 'spec', ['*']),
  suite('model-all', 'spec', ['*'], { ...thorough, testTimeout: 900_000 }),
  withRedis('property', 'property', ['*']),
  withRedis('property-all', 'property', ['*'], thorough),
  withRedis('locks', 'locks', ['contention']),
  // Its fleets wait for their leases most of the time.
  withRedis('locks-all', 'locks', ['harmed'], { maxConcurrency: 4 }),
  // Counts bytes of the heap, so it is alone in its process and may collect garbage.
  withRedis('bench', 'bench', ['*'], { isolate: true, execArgv: ['--expose-gc'] }),
  withRedis('chaos', 'chaos', ['five']),
  withRedis('chaos-all', 'chaos', ['!(five)'], { ...byTwo, env: { EVERY_CLIENT: 'yes' } }),
  withRedis('chaos-node-redis', 'chaos', ['replies'], {
    ...byTwo,
    env: { REDIS_CLIENT: 'node-redis', EVERY_CLIENT: 'yes' },
  }),
  // Apps that use the packed package as their users do.
  suite('apps', 'apps', ['!(next|nest|nest-manager|sveltekit|h3|doors)'], {
    globalSetup: 'test/apps/given-package.ts',
  }),
  suite('apps-doors', 'apps', ['doors'], { globalSetup: 'test/apps/given-package.ts' }),
  suite('apps-next', 'apps', ['next'], { hookTimeout: 600_000 }),
  suite('apps-nest', 'apps', ['nest', 'nest-manager'], { hookTimeout: 300_000 }),
  suite('apps-h3', 'apps', ['h3']),
  suite('apps-sveltekit', 'apps', ['sveltekit'], { hookTimeout: 300_000 }),
  withRedis('runtimes', 'runtimes', ['*']),
  withRedis('clients', 'clients', ['*']),
  // The page of the lab and the site, in a browser, which the first run fetches.
  suite('pages', 'pages', ['*'], { hookTimeout: 300_000 }),
  suite('deployment', 'deployment', ['*']),
]

export default defineConfig({
  test: {
    projects,
    // Three keep two processors busy with tests that wait for their servers half of the time.
    maxWorkers: 3,
    // Of those tests of a file that may run side by side, each of which has a fleet.
    maxConcurrency: 2,
    sequence: { sequencer: LongestFirst },
    setupFiles: ['test/support/clean.ts'],
    // A test that fails once has found something.
    retry: 0,
  },
})

function names(some: string): string[] {
  return some.split(' ')
}

/**
 * Some files of a folder of tests.
 * @param some patterns of their names, without `.test.ts`
 */
function suite(
  name: string,
  from: string,
  some: readonly string[],
  options: Options = {},
): TestProjectInlineConfiguration {
  const include = some.map((each) => `test/${from}/${each}.test.ts`)
  // A worker loads the library once for all its files. The limits are for what hangs: no test is judged by them on a busy machine.
  const usual = { pool: 'forks', isolate: false, testTimeout: 180_000, hookTimeout: 180_000 } as const
  return { extends: true, test: { ...usual, include, ...options, name } }
}

/** The same with a Redis that they are given. */
function withRedis(
  name: string,
  from: string,
  some: readonly string[],
  options: Options = {},
): TestProjectInlineConfiguration {
  return suite(name, from, some, { globalSetup: 'test/support/given-redis.ts', ...options })
}

/** All files of a folder: those that no other project names in the one of its name, and those of the landing in one more. */
function folder(
  name: keyof typeof files,
  options: Options = {},
  ofLanding: Options = {},
): TestProjectInlineConfiguration[] {
  const others = Object.entries<string>(files[name])
  const exclude = others.flatMap(([, some]) => names(some).map((each) => `test/${name}/${each}.test.ts`))
  return [
    withRedis(name, name, ['**/*'], { ...options, exclude: [...exclude, '**/node_modules/**'] }),
    ...others
      .filter(([other]) => other in suites && !['contract-all', 'identity'].includes(other))
      .map(([other, some]) => withRedis(other, name, names(some), { ...options, ...ofLanding })),
  ]
}

/** Suites with the oldest supported majors of clients and frameworks in the place of those of the checkout. */
function onOldest(
  name: string,
  from: string,
  some: string,
  env: Record<string, string> = {},
): TestProjectInlineConfiguration {
  const home = join(import.meta.dirname, 'test/older/package.json')
  const majors = Object.keys((JSON.parse(readFileSync(home, 'utf8')) as { devDependencies: object }).devDependencies)
  const options: Options = { provide: { frame: 'express' }, isolate: true, env: { ...env, MAJORS: 'older' } }
  return {
    ...withRedis(name, from, names(some), options),
    plugins: [
      {
        name: 'oldest-majors',
        enforce: 'pre',
        async resolveId(source) {
          if (!majors.includes(source)) return null
          const resolved = await this.resolve(source, home, { skipSelf: true })
          // A copy of the checkout may link its packages.
          const packages = await realpath(join(dirname(home), 'node_modules')).catch(() => null)
          if (packages !== null && resolved?.id.startsWith(packages)) return resolved
          throw new Error(`Expected ${source} in test/older: run \`npm ci\` there`)
        },
      },
    ],
  }
}
