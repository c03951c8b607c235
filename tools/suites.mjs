/**
 * Which projects of vitest.config.ts run when. `quick` are those that a change can plausibly break: `npm test`, within minutes. `rest` are long
 * runs of faults, of values made up at random, of conformance, and of the same suites behind other frameworks
 * or on another client: `npm run test:full` runs both.
 */
export const suites = {
  quick: ['unit', 'contract', 'integration', 'integration-node-redis', 'http', 'docs'],
  rest: [
    // First what takes longest.
    'spec',
    'simulation',
    'property',
    'locks',
    'contract-more',
    'integration-more',
    'integration-node-redis-more',
    'http-more',
    'docs-more',
    'bench',
    'apps',
    'http-koa',
    'http-fastify',
    'http-hono',
    'lab',
    'site',
    'chaos',
    'chaos-node-redis',
    'conformance-express',
    'conformance-koa',
    'conformance-fastify',
    'conformance-hono',
  ],
}
