/**
 * The suites, each a project of vitest.config.ts: in which ring it runs, and for those that are proofs of rooms, which rooms it proves. The
 * rings: `npm test` runs `commit`, `.ci/run` runs `landing` as well, and `npm run test:full` runs `nightly` too. `npm run prove` runs the
 * nightly suites of the rooms that differ from a commit.
 *
 * @typedef {'commit' | 'landing' | 'nightly'} Ring
 * @typedef {object} Suite
 * @property {Ring} ring
 * @property {string} proves in words
 * @property {readonly string[]} [rooms] for a nightly suite: the rooms that it proves, as the beginnings of paths
 * @property {readonly string[]} [packages] the folders whose packages it needs, besides those of the checkout
 */

/** @type {readonly Ring[]} */
export const rings = ['commit', 'landing', 'nightly']

const protocol = ['src/core/', 'src/redis/', 'src/memory/', 'src/testing/']
const responses = ['src/http/', 'src/express/']
const older = ['test/older']

/** @type {Record<string, Suite>} those that take longest come first within their ring */
export const suites = {
  unit: { ring: 'commit', proves: 'the rules, on a virtual clock' },
  contract: { ring: 'commit', proves: 'that each store, lock and client keeps its contract' },
  http: { ring: 'commit', proves: 'what is answered, stored and never shared, over the wire, on Express' },
  integration: { ring: 'commit', proves: 'the promises, by processes on a real Redis' },
  docs: { ring: 'commit', proves: 'that pages, names, links and code agree' },

  model: { ring: 'landing', proves: 'the promises in the model, for two processes' },
  'docs-run': {
    ring: 'landing',
    proves: 'that the code on the pages and the examples do what they say',
    packages: ['test/docs/libraries'],
  },
  'integration-landing': { ring: 'landing', proves: 'the promises under the usual faults, and the command' },
  'integration-node-redis': { ring: 'landing', proves: 'the same on node-redis' },
  'http-landing': { ring: 'landing', proves: 'every framework, attacks, crowds and several processes' },
  'contract-servers': { ring: 'landing', proves: 'the contracts on a Cluster, under Sentinel and for Redlock' },
  property: {
    ring: 'landing',
    proves: 'that bad input is refused at the door, and histories made up at random are right',
  },
  simulation: { ring: 'landing', proves: 'the promises in virtual fleets of 300 seeds' },
  chaos: { ring: 'landing', proves: 'the promises of a fleet under five faults' },
  locks: { ring: 'landing', proves: 'mutual exclusion among processes' },
  bench: { ring: 'landing', proves: 'that a call costs no more bytes and commands than before' },
  'conformance-express': {
    ring: 'landing',
    proves: 'RFC 9111, by http-cache-tests, on Express, but for what seconds decide',
  },

  'model-all': {
    ring: 'nightly',
    proves: 'the promises in the model, for three processes and smaller steps, and that each rule is needed',
    rooms: ['spec/', 'src/core/flight/', 'src/core/lease/', 'src/core/source/', 'src/core/contract/', 'src/redis/lua/'],
  },
  'simulation-all': { ring: 'nightly', proves: 'the promises in virtual fleets of 4000 seeds', rooms: protocol },
  'property-all': {
    ring: 'nightly',
    proves: 'ten times as much made-up input',
    rooms: [...protocol, 'src/codecs/', 'src/http/options/'],
  },
  'chaos-all': {
    ring: 'nightly',
    proves: 'the promises of a fleet under every fault',
    rooms: protocol,
    packages: older,
  },
  'chaos-node-redis': {
    ring: 'nightly',
    proves: 'the same under lost replies, on node-redis',
    rooms: ['src/redis/'],
    packages: older,
  },
  'contract-all': {
    ring: 'nightly',
    proves: 'the contracts with every client, on every kind of server, and of the locks of PostgreSQL and ZooKeeper',
    rooms: [
      'src/redis/',
      'src/postgres/',
      'src/zookeeper/',
      'src/key-value/',
      'src/core/near/',
      'src/core/lock/',
      'src/testing/',
    ],
  },
  'contract-older': {
    ring: 'nightly',
    proves: 'the contracts on ioredis 5 and node-redis 5',
    rooms: ['src/redis/', 'src/testing/'],
    packages: older,
  },
  'integration-older': {
    ring: 'nightly',
    proves: 'what depends on a client, on ioredis 5 and node-redis 5',
    rooms: ['src/redis/'],
    packages: older,
  },
  'integration-all': {
    ring: 'nightly',
    proves: 'faults by the minute, crowds, failovers, what the doctor says of each, and other backends',
    rooms: [
      ...protocol,
      'src/cli/',
      'src/postgres/',
      'src/zookeeper/',
      'src/prometheus/',
      'docs/production',
      'docs/monitoring/',
    ],
    packages: older,
  },
  'integration-node-redis-all': {
    ring: 'nightly',
    proves: 'the same on node-redis',
    rooms: ['src/redis/', 'src/cli/'],
  },
  identity: {
    ring: 'nightly',
    proves: 'that apps with the usual libraries tell their visitors apart',
    rooms: [...responses, 'src/koa/', 'src/fastify/', 'src/hono/'],
    packages: ['test/http/identity'],
  },
  'identity-older': {
    ring: 'nightly',
    proves: 'the same on the oldest supported frameworks',
    rooms: [...responses, 'src/koa/', 'src/fastify/'],
    packages: ['test/older', 'test/http/identity'],
  },
  'http-older': {
    ring: 'nightly',
    proves: 'every framework in its oldest supported major',
    rooms: [...responses, 'src/koa/', 'src/fastify/', 'src/hono/'],
    packages: older,
  },
  'http-koa': { ring: 'nightly', proves: 'the suites of http behind Koa', rooms: [...responses, 'src/koa/'] },
  'http-fastify': {
    ring: 'nightly',
    proves: 'the suites of http behind Fastify',
    rooms: [...responses, 'src/fastify/'],
  },
  'http-hono': { ring: 'nightly', proves: 'the suites of http behind Hono', rooms: [...responses, 'src/hono/'] },
  'conformance-express-all': {
    ring: 'nightly',
    proves: 'RFC 9111 on Express, where it is about seconds, too',
    rooms: responses,
  },
  'conformance-koa': { ring: 'nightly', proves: 'RFC 9111 on Koa', rooms: [...responses, 'src/koa/'] },
  'conformance-fastify': { ring: 'nightly', proves: 'RFC 9111 on Fastify', rooms: [...responses, 'src/fastify/'] },
  'conformance-hono': { ring: 'nightly', proves: 'RFC 9111 on Hono', rooms: [...responses, 'src/hono/'] },
  'conformance-fetch': { ring: 'nightly', proves: 'RFC 9111 on fetch', rooms: [...responses, 'src/fetch/'] },
  'docs-run-all': {
    ring: 'nightly',
    proves: 'what pages and examples say where real time decides it, and that an example can be run once more',
    rooms: ['docs/', 'examples/'],
    packages: ['test/docs/libraries'],
  },
  'locks-all': {
    ring: 'nightly',
    proves: 'mutual exclusion while processes are killed and stand still, again and again',
    rooms: ['src/core/lock/', 'src/core/lease/', 'src/redis/', 'src/postgres/', 'src/zookeeper/'],
  },
  rights: {
    ring: 'nightly',
    proves: 'that the rules of ACL on the pages are enough, and each is needed',
    rooms: ['src/redis/', 'docs/redis', 'docs/locks'],
  },
  apps: {
    ring: 'nightly',
    proves: 'apps of Express and Nest, and the runners of tests, with the packed package',
    rooms: ['src/', 'scripts/build.mjs', 'package.json'],
    packages: ['test/apps'],
  },
  'apps-doors': {
    ring: 'nightly',
    proves: 'the promises behind each door that needs no packages of its own, in three processes',
    rooms: [
      'src/http/',
      'src/core/',
      'src/redis/',
      'src/express/',
      'src/koa/',
      'src/fastify/',
      'src/hono/',
      'src/fetch/',
    ],
    packages: ['test/apps'],
  },
  'apps-next': {
    ring: 'nightly',
    proves: 'an app of Next 15 and 16 in three processes, with the packed package',
    rooms: ['src/next/', 'src/core/', 'src/redis/', 'scripts/build.mjs', 'package.json'],
    packages: ['test/apps/next/on15', 'test/apps/next/on16'],
  },
  'apps-nest': {
    ring: 'nightly',
    proves:
      'an app of Nest 11 and 12 in two processes, on Express and Fastify, and one before and after its move from cache-manager',
    rooms: ['src/nest/', 'src/core/', 'src/redis/', 'scripts/build.mjs', 'package.json'],
    packages: ['test/apps/nest/on11', 'test/apps/nest/on12', 'test/apps/nest/manager'],
  },
  'apps-h3': {
    ring: 'nightly',
    proves: 'an app of H3 in three processes, with the packed package',
    rooms: ['src/fetch/', 'src/http/', 'src/core/', 'src/redis/', 'scripts/build.mjs', 'package.json'],
    packages: ['test/apps/h3'],
  },
  'apps-sveltekit': {
    ring: 'nightly',
    proves: 'an app of SvelteKit in two processes, with the packed package',
    rooms: ['src/fetch/', 'src/http/', 'src/core/', 'src/redis/', 'scripts/build.mjs', 'package.json'],
    packages: ['test/apps/sveltekit'],
  },
  runtimes: {
    ring: 'nightly',
    proves: 'the core and responses on Bun and Deno, with the packed package',
    rooms: ['src/core/', 'src/redis/', 'src/memory/', 'src/http/', 'src/fetch/'],
    packages: ['test/runtimes'],
  },
  clients: {
    ring: 'nightly',
    proves: 'the contracts on Valkey GLIDE and iovalkey',
    rooms: ['src/redis/', 'src/testing/'],
    packages: ['test/clients'],
  },
  pages: {
    ring: 'nightly',
    proves: 'the page of the lab and the site, in headless Chromium',
    rooms: ['examples/stampede-lab/', 'site/', 'docs/'],
    packages: ['test/pages', 'site'],
  },
  deployment: {
    ring: 'nightly',
    proves: 'the manifests for Kubernetes',
    rooms: ['docs/kubernetes'],
    packages: ['test/deployment'],
  },
}

/** @param {Ring} ring @returns {string[]} the names of its suites */
export function suitesOf(ring) {
  return Object.keys(suites).filter((name) => suites[name]?.ring === ring)
}
