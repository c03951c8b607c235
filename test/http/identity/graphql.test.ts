import { ApolloServer } from '@apollo/server'
import { ApolloServerPluginCacheControl } from '@apollo/server/plugin/cacheControl'
import { expressMiddleware } from '@as-integrations/express5'
import { createServer } from 'node:http'
import express, { type Request } from 'express'
import express4 from 'express4'
import { cacheResponses } from '../../../src/express/index.ts'
import { tellsApart, type MakeApp, type Visitors } from '../support/identity.ts'

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
function apolloOn(
  framework: typeof express,
  who: (req: Request) => string | undefined,
  before: (req: Request) => void,
): MakeApp {
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
    const app = framework()
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
  return { 'Express 5': apolloOn(express, who, before), 'Express 4': apolloOn(express4, who, before) }
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
