import { ApolloServer } from '@apollo/server'
import { ApolloServerPluginCacheControl } from '@apollo/server/plugin/cacheControl'
import { expressMiddleware } from '@as-integrations/express5'
import { createServer } from 'node:http'
import express, { type Request } from 'express'
import { expect, test } from 'vitest'
import { cacheResponses, type CacheResponsesOptions } from '../../../src/express/index.ts'
import { tellsApart, type MakeApp, type Visitors } from '../support/identity.ts'
import { siteWith, type Site } from '../support/site.ts'

interface Context {
  readonly name: string | undefined
}

/** A query by GET, with the field that Apollo demands against CSRF. */
function queryOf(headers: Record<string, string> = {}, field = 'me'): Visitors[string] {
  return {
    path: `/graphql?query=${encodeURIComponent(`{${field}}`)}`,
    headers: { 'apollo-require-preflight': 'true', ...headers },
  }
}

const visitors: Visitors = {
  ada: queryOf({ 'x-forwarded-user': 'ada' }),
  bob: queryOf({ 'x-forwarded-user': 'bob' }),
  nobody: queryOf(),
}

/** @param who reads the name of a visitor, for the context of Apollo @param before an earlier middleware */
function apolloOn(who: (req: Request) => string | undefined, before: (req: Request) => void): MakeApp {
  return async (cache, options, pageFor) => {
    const apollo = new ApolloServer<Context>({
      typeDefs: 'type Query { me: String, all: String }',
      resolvers: {
        Query: { me: (_root: unknown, _args: unknown, { name }: Context) => pageFor(name), all: () => pageFor('all') },
      },
      // By default it says no-store where the schema has no hints.
      plugins: [ApolloServerPluginCacheControl({ calculateHttpHeaders: false })],
      stopOnTerminationSignals: false,
    })
    await apollo.start()
    const app = express()
    app.set('env', 'test')
    app.use((req, _res, next) => (before(req), next()))
    app.use(
      '/graphql',
      cacheResponses(cache, options),
      express.json(),
      expressMiddleware(apollo, { context: async ({ req }) => ({ name: who(req) }) }),
    )
    app.get('/same', cacheResponses(cache, options), async (_req, res) => void res.send(await pageFor('all')))
    return createServer(app).once('close', () => void apollo.stop())
  }
}

function inApollo(who: (req: Request) => string | undefined, before: (req: Request) => void = () => undefined) {
  return { Express: apolloOn(who, before) }
}

tellsApart('a context of Apollo, from a request field', {
  visitors,
  apps: inApollo((req) => req.get('x-forwarded-user')),
})

tellsApart('a context of Apollo, from req.user', {
  visitors,
  apps: inApollo(
    (req) => req.user?.name,
    (req) => {
      const name = req.get('x-forwarded-user')
      if (name !== undefined) req.user = { name }
    },
  ),
})

async function apolloWith(options: CacheResponsesOptions): Promise<Site> {
  let runs = 0
  const apollo = new ApolloServer({
    typeDefs: 'type Query { run: Int }',
    resolvers: { Query: { run: () => ++runs } },
    plugins: [ApolloServerPluginCacheControl({ calculateHttpHeaders: false })],
    stopOnTerminationSignals: false,
  })
  await apollo.start()
  return await siteWith((app, cache) => {
    app.use('/graphql', cacheResponses(cache, options), express.json(), expressMiddleware(apollo))
  })
}
const query = `/graphql?query=${encodeURIComponent('{run}')}`

test('a Content-Type lets Apollo answer, which rejects what any page can send', async () => {
  await using site = await apolloWith({})
  const answer = await site.get(query, { 'content-type': 'application/json' })
  // It reads all fields at once.
  expect([answer.status, answer.text.trim(), answer.cache]).toEqual([
    200,
    '{"data":{"run":1}}',
    'herdless; fwd=uri-miss; detail=undeclared:*',
  ])
  expect((await site.get(query)).status).toBe(400)
})

test('a Content-Type lets Apollo be cached, where what it reads is declared', async () => {
  await using site = await apolloWith({ undeclared: 'ignore', vary: ['content-type', 'apollo-require-preflight'] })
  for (let round = 0; round < 2; round++) {
    const answer = await site.get(query, { 'content-type': 'application/json' })
    expect([answer.status, answer.text.trim()]).toEqual([200, '{"data":{"run":1}}'])
    await site.stored()
  }
  expect((await site.get(query)).status).toBe(400)
})
